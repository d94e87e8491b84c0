package llm

import (
	"cmp"
	"encoding/json"
	"fmt"

	deepseek "github.com/cohesion-org/deepseek-go"
)

type rawEvent struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []rawChoice     `json:"choices"`
	Usage   *rawUsage       `json:"usage"`
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
	deepseek.StreamUsage
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// event translates one event of any known dialect into the library's. What tells an
// error is an *Error.
func (s *stream) event(data []byte) error {
	var raw rawEvent
	if err := json.Unmarshal(data, &raw); err != nil {
		return garbage("unreadable event in the stream: %s", s.redact(string(data[:min(len(data), 4096)])))
	}
	if raw.Choices == nil || raw.Error != nil {
		if p, ok := parseProblem(data); ok {
			return p.error(0, s.redact)
		}
	}
	out := deepseek.StreamChatCompletionResponse{Model: raw.Model, Usage: raw.usage()}
	for _, c := range raw.Choices {
		if c.Index != 0 {
			continue // only one answer was asked for
		}
		s.finished = s.finished || c.FinishReason != ""
		out.Choices = append(out.Choices, deepseek.StreamChoices{Delta: s.delta(c.Delta), FinishReason: c.FinishReason})
	}
	if len(out.Choices) == 0 && out.Usage == nil {
		return nil // it says nothing
	}
	s.alive(s.finished)
	event, err := json.Marshal(out)
	s.out = fmt.Appendf(s.out, "data: %s\n\n", event)
	return err
}

func (r rawEvent) usage() *deepseek.StreamUsage {
	u := r.Usage
	if u == nil {
		return nil
	}
	u.PromptCacheHitTokens = max(u.PromptCacheHitTokens, u.Details.Cached)
	return &u.StreamUsage
}

func (s *stream) delta(raw rawDelta) deepseek.StreamDelta {
	text, thinking := content(raw.Content)
	out := deepseek.StreamDelta{Content: text, ReasoningContent: cmp.Or(plain(raw.ReasoningContent), plain(raw.Reasoning)) + thinking}
	for _, c := range raw.ToolCalls {
		call := deepseek.ToolCall{Index: s.index(c), ID: c.ID, Type: "function"}
		call.Function.Name = c.Function.Name
		call.Function.Arguments = arguments(c.Function.Arguments)
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out
}

// index numbers a fragment: one that comes without a number and with a name
// begins a call, and without a name continues the last one.
func (s *stream) index(c rawCall) int {
	if c.Index != nil {
		s.calls = max(s.calls, *c.Index+1)
		return *c.Index
	}
	if c.Function.Name != "" || s.calls == 0 {
		s.calls++
	}
	return s.calls - 1
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
