package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// Ollama is the Dialect of Ollama's /api/chat, which takes the window that a request wants. Its /v1 takes no window,
// and drops what a small one does not hold. Ollama's docs/api.md and api/types.go say so.
const Ollama = "ollama"

// ollamaWindow is the window to ask for if nobody has set a limit, and the model was not loaded with more.
const ollamaWindow = 32 << 10

// setOllama sets the fields of a body that only this dialect has. A server refuses what it would else drop or shift.
func setOllama(body object, r Request) {
	options := object{}
	if r.Window > 0 {
		options["num_ctx"] = r.Window
	}
	if r.MaxTokens > 0 {
		options["num_predict"] = r.MaxTokens
	}
	body["options"], body["truncate"], body["shift"] = options, false, false
	if body["think"] == "none" {
		body["think"] = false
	}
}

// arguments returns a call's arguments: as text, or as the object that Ollama wants.
func (p PresetInfo) arguments(text string) any {
	if p.Dialect != Ollama {
		return text
	}
	if !isObject(strings.TrimSpace(text)) {
		text = "{}"
	}
	return json.RawMessage(text)
}

// chat adds one event of Ollama's, or of OpenAI's dialect, which a gateway may speak at its address.
func (d *draft) chat(data []byte, redact func(string) string) error {
	var e struct {
		Model   string
		Message struct {
			Content, Thinking content
			Calls             []fragment `json:"tool_calls"`
		}
		Done    bool
		Reason  string `json:"done_reason"`
		Input   int    `json:"prompt_eval_count"`
		Output  int    `json:"eval_count"`
		Error   string
		Choices json.RawMessage
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return unreadable(data, redact)
	}
	isAnswer := e.Choices == nil && e.Error == ""
	if isOllamas := isAnswer && e.Model != ""; !isOllamas {
		return d.event(data, redact)
	}
	c := choice{Delta: piece{Content: e.Message.Content, Reasoning: e.Message.Thinking, ToolCalls: e.Message.Calls}}
	if e.Done {
		c.FinishReason = cmp.Or(e.Reason, "stop")
		d.count(deepseek.StreamUsage{PromptTokens: e.Input, CompletionTokens: e.Output})
	}
	d.reply.Model = e.Model
	d.add(c)
	d.tell()
	return nil
}

// Window asks a local server for the window of a model, and for the tokens that a life without a limit takes of it. It
// asks nothing of other providers. What the server does not tell is 0.
func (c *Client) Window(ctx context.Context, model string) (window, limit int) {
	switch {
	case c.preset.Dialect == Ollama:
		window, limit = c.ollamaWindow(ctx, model)
		return window, min(max(limit, ollamaWindow), cmp.Or(window, max(limit, ollamaWindow)))
	case c.preset.Name == "llamacpp":
		var props struct {
			Settings struct {
				Window int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		c.tell(ctx, "props", nil, &props)
		return max(props.Settings.Window, 0), 0
	}
	return 0, 0
}

// ollamaWindow returns the window that a model was trained with, and its window once it is loaded.
func (c *Client) ollamaWindow(ctx context.Context, model string) (trained, loaded int) {
	var shown struct {
		Parameters string
		Info       map[string]any `json:"model_info"`
	}
	c.tell(ctx, "api/show", object{"model": model}, &shown)
	for key, value := range shown.Info {
		if tokens, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") {
			trained = int(tokens)
		}
	}
	for _, line := range strings.SplitAfter(shown.Parameters, "\n") {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "num_ctx" {
			loaded, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	var running struct {
		Models []struct {
			Name   string
			Window int `json:"context_length"`
		}
	}
	c.tell(ctx, "api/ps", nil, &running)
	for _, m := range running.Models {
		if m.Name == model || m.Name == model+":latest" {
			loaded = max(loaded, m.Window)
		}
	}
	return trained, loaded
}

// tell asks a local server beside its /v1. What it does not tell stays as it is.
func (c *Client) tell(ctx context.Context, path string, ask object, into any) {
	method, body := http.MethodGet, io.Reader(nil)
	if ask != nil {
		text, _ := encode(ask) // of plain fields: cannot fail
		method, body = http.MethodPost, bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.beside(path), body)
	if err != nil {
		return
	}
	req.Header = c.header("application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(into)
}

// beside returns an address of a server beside its /v1.
func (t target) beside(path string) string { return strings.TrimSuffix(t.base.String(), "v1/") + path }
