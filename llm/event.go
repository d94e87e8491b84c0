package llm

import (
	"bytes"
	"encoding/json"
	"strings"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// decoder reads the events of one stream in every known dialect and writes them
// in the library's.
type decoder struct {
	finished bool // a finish reason has been seen
	calls    int  // calls begun, to number those that come without an index
}

// problemError is an error that the server told inside the stream.
type problemError struct{ problem }

func (p *problemError) Error() string { return p.message }

type rawEvent struct {
	Model   string          `json:"model"`
	Object  json.RawMessage `json:"object"`
	Type    json.RawMessage `json:"type"`
	Error   json.RawMessage `json:"error"`
	Choices []rawChoice     `json:"choices"`
	Usage   *rawUsage       `json:"usage"`
	// Groq repeats the usage here, and older versions send it only here.
	XGroq *struct {
		Usage *rawUsage `json:"usage"`
	} `json:"x_groq"`
}

type rawChoice struct {
	Index        int      `json:"index"`
	Delta        rawDelta `json:"delta"`
	FinishReason string   `json:"finish_reason"`
}

type rawDelta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ToolCalls        []rawCall       `json:"tool_calls"`
}

type rawCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type rawUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	CacheHit   int `json:"prompt_cache_hit_tokens"`
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Out *struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// event translates one event. It returns nothing for one that says nothing,
// and a *problemError for one that tells an error.
func (d *decoder) event(data []byte) ([]byte, error) {
	var raw rawEvent
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	if raw.tellsError() {
		if p, ok := parseProblem(data); ok {
			return nil, &problemError{p}
		}
	}
	out := deepseek.StreamChatCompletionResponse{Model: raw.Model, Usage: raw.usage()}
	for _, c := range raw.Choices {
		if c.Index != 0 {
			continue // only one answer was asked for
		}
		d.finished = d.finished || c.FinishReason != ""
		out.Choices = append(out.Choices, deepseek.StreamChoices{
			Delta: d.delta(c.Delta), FinishReason: c.FinishReason,
		})
	}
	if len(out.Choices) == 0 && out.Usage == nil {
		return nil, nil
	}
	return json.Marshal(out)
}

func (r rawEvent) tellsError() bool {
	switch string(bytes.TrimSpace(r.Error)) {
	case "", "null", "{}", `""`, "false":
	default:
		return true
	}
	return r.Choices == nil && (strings.EqualFold(plain(r.Object), "error") || plain(r.Type) == "error")
}

func (r rawEvent) usage() *deepseek.StreamUsage {
	u := r.Usage
	if u == nil && r.XGroq != nil {
		u = r.XGroq.Usage
	}
	if u == nil {
		return nil
	}
	out := &deepseek.StreamUsage{PromptTokens: u.Prompt, CompletionTokens: u.Completion, PromptCacheHitTokens: u.CacheHit}
	if u.Details != nil {
		out.PromptCacheHitTokens = max(out.PromptCacheHitTokens, u.Details.Cached)
	}
	if u.Out != nil {
		out.CompletionTokensDetails.ReasoningTokens = u.Out.Reasoning
	}
	return out
}

func (d *decoder) delta(raw rawDelta) deepseek.StreamDelta {
	text, thinking := content(raw.Content)
	reasoning := plain(raw.ReasoningContent)
	if reasoning == "" {
		reasoning = plain(raw.Reasoning)
	}
	out := deepseek.StreamDelta{Content: text, ReasoningContent: reasoning + thinking}
	for _, c := range raw.ToolCalls {
		call := deepseek.ToolCall{Index: d.index(c), ID: c.ID, Type: "function"}
		call.Function.Name = c.Function.Name
		call.Function.Arguments = arguments(c.Function.Arguments)
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out
}

// index numbers a fragment: one that comes without a number and with a name
// begins a call, and without a name continues the last one.
func (d *decoder) index(c rawCall) int {
	if c.Index != nil {
		d.calls = max(d.calls, *c.Index+1)
		return *c.Index
	}
	if c.Function.Name != "" || d.calls == 0 {
		d.calls++
	}
	return d.calls - 1
}

// plain returns a JSON string's text, and nothing for any other value.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// arguments accepts the object itself where a string of JSON belongs.
func arguments(raw json.RawMessage) string {
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		return string(raw)
	}
	return plain(raw)
}

// content accepts text, and Mistral's list of parts, in which thinking is a
// part of its own.
func content(raw json.RawMessage) (text, thinking string) {
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return plain(raw), ""
	}
	for _, p := range parts {
		text += p.Text
		if len(p.Thinking) > 0 {
			inner, _ := content(p.Thinking)
			thinking += inner
		}
	}
	return text, thinking
}
