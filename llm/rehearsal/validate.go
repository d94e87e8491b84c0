package rehearsal

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Bounds of the service, from DeepSeek's pricing and API pages.
const (
	DefaultWindow = 1 << 20 // tokens of context
	MaxOutput     = 384 << 10
	maxUserID     = 512 // bytes
)

// models are the names that are accepted; * at the end stands for any rest.
var models = []string{"deepseek-v4-pro", "deepseek-flash", "deepseek-v4-flash", "rehearsal*"}

var roles = map[string]bool{"system": true, "user": true, "assistant": true, "tool": true}

// A checker turns a body into an accepted request or a refusal. Its messages are
// worded like DeepSeek's, with the index of the message at fault.
type checker struct{ window int }

func (c *checker) parse(body []byte) (*Request, *refusal) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, deserialise("%v", err)
	}
	r := &Request{
		Model: w.Model, ToolChoice: w.Choice, Thinking: true, UserID: w.UserID,
	}
	for _, check := range []func(*Request, *wireRequest) *refusal{
		c.model, c.parameters, c.thinking, c.tools, c.messages,
	} {
		if ref := check(r, &w); ref != nil {
			return nil, ref
		}
	}
	params, err := paramHash(body)
	if err != nil {
		return nil, deserialise("%v", err)
	}
	r.params = params
	return r, c.conversation(r)
}

func deserialise(format string, args ...any) *refusal {
	return invalid("Failed to deserialize the JSON body into the target type: "+format, args...)
}

func (c *checker) model(r *Request, _ *wireRequest) *refusal {
	for _, m := range models {
		if r.Model == m || strings.HasSuffix(m, "*") && strings.HasPrefix(r.Model, strings.TrimSuffix(m, "*")) {
			return nil
		}
	}
	return invalid("The supported API model names are %s, but you passed %s.", strings.Join(models, ", "), r.Model)
}

func (c *checker) parameters(r *Request, w *wireRequest) *refusal {
	if !absent(w.MaxTokens) {
		if err := json.Unmarshal(w.MaxTokens, &r.MaxTokens); err != nil || r.MaxTokens < 1 || r.MaxTokens > MaxOutput {
			return invalid("Invalid max_tokens value, the valid range of max_tokens is [1, %d]", MaxOutput)
		}
	}
	if t := w.Temperature; t != nil && (*t < 0 || *t > 2) {
		return invalid("Invalid temperature value, the valid range of temperature is [0, 2]")
	}
	if p := w.TopP; p != nil && (*p <= 0 || *p > 1) {
		return invalid("Invalid top_p value, the valid range of top_p is (0, 1]")
	}
	if !w.Stream {
		return invalid("This server only streams: stream should be true")
	}
	if w.StreamOptions != nil {
		r.IncludeUsage = w.StreamOptions.IncludeUsage
	}
	if len(w.UserID) > maxUserID {
		return invalid("Invalid user_id: at most %d bytes", maxUserID)
	}
	if f := w.ResponseFormat; f != nil {
		if f.Type != "text" && f.Type != "json_object" {
			return deserialise("response_format.type: unknown variant `%s`, expected `text` or `json_object`", f.Type)
		}
		r.JSONMode = f.Type == "json_object"
	}
	return nil
}

func (c *checker) thinking(r *Request, w *wireRequest) *refusal {
	if w.Thinking != nil {
		if w.Thinking.Type != "enabled" && w.Thinking.Type != "disabled" {
			return deserialise("thinking.type: unknown variant `%s`, expected `enabled` or `disabled`", w.Thinking.Type)
		}
		r.Thinking = w.Thinking.Type == "enabled"
	}
	if e := w.Effort; e != nil && *e != "low" && *e != "high" && *e != "max" {
		return deserialise("reasoning_effort: unknown variant `%s`, expected one of `low`, `high`, `max`", *e)
	}
	return nil
}

// messages decodes and checks each message by itself.
func (c *checker) messages(r *Request, w *wireRequest) *refusal {
	if len(w.Messages) == 0 {
		return invalid("Empty input messages")
	}
	for i, raw := range w.Messages {
		var m wireMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return deserialise("messages[%d]: %v", i, err)
		}
		out := Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning}
		if !roles[m.Role] {
			return deserialise("messages[%d].role: unknown variant `%s`, expected one of `system`, `user`, `assistant`, `tool`", i, m.Role)
		}
		if m.ToolCallID != nil {
			out.ToolCallID = *m.ToolCallID
		}
		if !absent(m.Calls) {
			if m.Role != "assistant" {
				return invalid("messages[%d]: tool_calls are only allowed on an assistant message", i)
			}
			calls, ref := parseCalls(i, m.Calls)
			if ref != nil {
				return ref
			}
			out.Calls = calls
		}
		if ref := c.message(i, r, out); ref != nil {
			return ref
		}
		r.Messages = append(r.Messages, out)
	}
	return nil
}

func parseCalls(i int, raw json.RawMessage) ([]Call, *refusal) {
	var calls []wireCall
	if err := json.Unmarshal(raw, &calls); err != nil {
		return nil, deserialise("messages[%d].tool_calls: %v", i, err)
	}
	if len(calls) == 0 {
		return nil, invalid("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", i)
	}
	var out []Call
	for k, c := range calls {
		switch {
		case c.ID == nil || *c.ID == "":
			return nil, deserialise("messages[%d].tool_calls[%d]: missing field `id`", i, k)
		case c.Type != "function":
			return nil, deserialise("messages[%d].tool_calls[%d].type: unknown variant `%s`, expected `function`", i, k, c.Type)
		case c.Function == nil || c.Function.Name == "" || c.Function.Arguments == nil:
			return nil, deserialise("messages[%d].tool_calls[%d].function: missing field `name` or `arguments`", i, k)
		case !isObject([]byte(*c.Function.Arguments)):
			return nil, invalid("messages[%d].tool_calls[%d].function.arguments must be a JSON object", i, k)
		}
		out = append(out, Call{*c.ID, c.Function.Name, *c.Function.Arguments})
	}
	return out, nil
}

// isObject says whether raw is one valid JSON object.
func isObject(raw []byte) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

func (c *checker) message(i int, r *Request, m Message) *refusal {
	switch m.Role {
	case "system":
		if m.Content == nil {
			return deserialise("messages[%d]: missing field `content`", i)
		}
	case "user":
		if strings.TrimSpace(m.Text()) == "" {
			return invalid("Invalid user message: content must not be empty (messages[%d])", i)
		}
	case "tool":
		if m.Content == nil {
			return deserialise("messages[%d]: missing field `content`", i)
		}
		if m.ToolCallID == "" {
			return deserialise("messages[%d]: missing field `tool_call_id`", i)
		}
	case "assistant":
		if m.Text() == "" && len(m.Calls) == 0 {
			return invalid("Invalid assistant message: content or tool_calls must be set (messages[%d])", i)
		}
		needs := r.Thinking && len(m.Calls) > 0
		if needs && (m.Reasoning == nil || strings.TrimSpace(*m.Reasoning) == "") {
			return invalid("The `reasoning_content` in the thinking mode must be passed back to the API. (messages[%d])", i)
		}
	}
	return nil
}

// conversation checks what holds between messages, and the size of it all.
func (c *checker) conversation(r *Request) *refusal {
	ids := map[string]int{}      // every call id and where it was made
	open := map[string]bool{}    // calls of the latest reply that wait for a result
	answered := map[string]int{} // results, by call id
	from := 0                    // the reply that made the open calls
	for i, m := range r.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return unpaired(from, i)
		}
		for _, call := range m.Calls {
			if at, twice := ids[call.ID]; twice {
				return invalid("Duplicate value for 'tool_calls[].id' %s in messages[%d], first used in messages[%d]", call.ID, i, at)
			}
			ids[call.ID], open[call.ID], from = i, true, i
		}
		if m.Role != "tool" {
			continue
		}
		if at, twice := answered[m.ToolCallID]; twice {
			return invalid("Duplicate value for 'tool_call_id' of %s in messages[%d], first answered in messages[%d]", m.ToolCallID, i, at)
		}
		if !open[m.ToolCallID] {
			return invalid("Messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[%d], tool_call_id %s)", i, m.ToolCallID)
		}
		delete(open, m.ToolCallID)
		answered[m.ToolCallID] = i
	}
	if len(open) > 0 {
		return unpaired(from, len(r.Messages))
	}
	if last := r.Last().Role; last != "user" && last != "tool" {
		return invalid("The last message must be a user or tool message, but messages[%d] is %s", len(r.Messages)-1, last)
	}
	if r.JSONMode && !mentionsJSON(r) {
		return invalid("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")
	}
	return c.size(r)
}

func unpaired(from, at int) *refusal {
	return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following messages[%d], found none at messages[%d])", from, at)
}

func mentionsJSON(r *Request) bool {
	for _, m := range r.Messages {
		if strings.Contains(strings.ToLower(m.Text()), "json") {
			return true
		}
	}
	return false
}

func (c *checker) size(r *Request) *refusal {
	r.prefix = newPrefix(r)
	input := r.prefix.tokens()
	if input+r.MaxTokens <= c.window {
		return nil
	}
	return invalid("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
		c.window, input+r.MaxTokens, input, r.MaxTokens)
}
