package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"

	"lethe/internal/lazy"
)

// Bounds of the service, from DeepSeek's pricing and API pages.
const (
	DefaultWindow = 1 << 20 // tokens of context
	MaxOutput     = 384 << 10
)

// models are the names that are accepted, beside those that begin with rehearsal.
var models = []string{"deepseek-v4-pro", "deepseek-flash", "deepseek-v4-flash"}

// parseRequest turns a body into an accepted request or a refusal, whose message is worded
// like DeepSeek's, with the index of the message at fault.
func parseRequest(body []byte, window int) (*Request, *refusal) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, deserialise("%v", err)
	}
	r := &Request{Model: w.Model}
	for _, check := range []func(*Request, *wireRequest) *refusal{checkParameters, checkThinking, checkTools, checkMessages} {
		if ref := check(r, &w); ref != nil {
			return nil, ref
		}
	}
	if ref := checkConversation(r); ref != nil {
		return nil, ref
	}
	r.prefix = NewPrompt(w.params(), string(w.Tools))
	r.prefix.Add(r.Messages...)
	if input := r.prefix.Tokens(); input+r.MaxTokens > window {
		return nil, invalid("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
			window, input+r.MaxTokens, input, r.MaxTokens)
	}
	return r, nil
}

func deserialise(format string, args ...any) *refusal {
	return invalid("Failed to deserialize the JSON body into the target type: "+format, args...)
}

func checkParameters(r *Request, w *wireRequest) *refusal {
	if !slices.Contains(models, r.Model) && !strings.HasPrefix(r.Model, "rehearsal") {
		return invalid("The supported API model names are %s, rehearsal*, but you passed %s.", strings.Join(models, ", "), r.Model)
	}
	if !absent(w.MaxTokens) {
		if err := json.Unmarshal(w.MaxTokens, &r.MaxTokens); err != nil || r.MaxTokens < 1 || r.MaxTokens > MaxOutput {
			return invalid("Invalid max_tokens value, the valid range of max_tokens is [1, %d]", MaxOutput)
		}
	}
	if !w.Stream {
		return invalid("This server only streams: stream should be true")
	}
	r.IncludeUsage = w.StreamOptions.IncludeUsage
	return nil
}

func checkThinking(r *Request, w *wireRequest) *refusal {
	if t := w.Thinking.Type; !slices.Contains([]string{"", "enabled", "disabled"}, t) {
		return deserialise("thinking.type: unknown variant `%s`, expected `enabled` or `disabled`", t)
	}
	r.Thinking = w.Thinking.Type != "disabled"
	if !slices.Contains([]string{"", "low", "high", "max"}, w.Effort) {
		return deserialise("reasoning_effort: unknown variant `%s`, expected one of `low`, `high`, `max`", w.Effort)
	}
	return nil
}

var toolName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// checkTools checks the offered functions: their names, and that they take an object.
func checkTools(r *Request, w *wireRequest) *refusal {
	if absent(w.Tools) {
		return nil
	}
	var tools []wireTool
	if err := json.Unmarshal(w.Tools, &tools); err != nil {
		return deserialise("tools: %v", err)
	}
	if len(tools) == 0 {
		return invalid("Invalid 'tools': expected an array with functions, but got an empty one")
	}
	for i, t := range tools {
		switch name := t.Function.Name; {
		case t.Type != "function":
			return deserialise("tools[%d].type: unknown variant `%s`, expected `function`", i, t.Type)
		case !toolName().MatchString(name):
			return invalid("Invalid 'tools[%d].function.name': expected a string that matches %s", i, toolName())
		case slices.Contains(r.Tools, name):
			return invalid("Tool names must be unique: tools[%d].function.name %s", i, name)
		}
		if kind := t.Function.Parameters.Type; kind != "object" {
			return invalid("Invalid schema for function '%s' (tools[%d]): schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'", t.Function.Name, i, kind)
		}
		r.Tools = append(r.Tools, t.Function.Name)
	}
	return nil
}

// checkMessages decodes and checks each message by itself.
func checkMessages(r *Request, w *wireRequest) *refusal {
	if len(w.Messages) == 0 {
		return invalid("Empty input messages")
	}
	for i, raw := range w.Messages {
		var m wireMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return deserialise("messages[%d]: %v", i, err)
		}
		if !absent(m.Calls) {
			if m.Role != "assistant" {
				return invalid("messages[%d]: tool_calls are only allowed on an assistant message", i)
			}
			var ref *refusal
			if m.Message.Calls, ref = parseCalls(i, m.Calls); ref != nil {
				return ref
			}
		}
		if ref := checkMessage(i, r, m.Message); ref != nil {
			return ref
		}
		r.Messages = append(r.Messages, m.Message)
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
		var args map[string]json.RawMessage
		_ = json.Unmarshal([]byte(c.Function.Arguments), &args) // nil, unless it is an object
		switch {
		case c.ID == "":
			return nil, deserialise("messages[%d].tool_calls[%d]: missing field `id`", i, k)
		case c.Type != "function":
			return nil, deserialise("messages[%d].tool_calls[%d].type: unknown variant `%s`, expected `function`", i, k, c.Type)
		case c.Function.Name == "":
			return nil, deserialise("messages[%d].tool_calls[%d].function: missing field `name`", i, k)
		case args == nil:
			return nil, invalid("messages[%d].tool_calls[%d].function.arguments must be a JSON object", i, k)
		}
		out = append(out, Call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return out, nil
}

func checkMessage(i int, r *Request, m Message) *refusal {
	switch m.Role {
	case "system", "tool":
		if m.Content == nil {
			return deserialise("messages[%d]: missing field `content`", i)
		}
		if m.Role == "tool" && m.ToolCallID == "" {
			return deserialise("messages[%d]: missing field `tool_call_id`", i)
		}
	case "user":
		if strings.TrimSpace(m.Text()) == "" {
			return invalid("Invalid user message: content must not be empty (messages[%d])", i)
		}
	case "assistant":
		if m.Text() == "" && len(m.Calls) == 0 {
			return invalid("Invalid assistant message: content or tool_calls must be set (messages[%d])", i)
		}
		needs := r.Thinking && len(m.Calls) > 0
		if needs && (m.Reasoning == nil || strings.TrimSpace(*m.Reasoning) == "") {
			return invalid("The `reasoning_content` in the thinking mode must be passed back to the API. (messages[%d])", i)
		}
	default:
		return deserialise("messages[%d].role: unknown variant `%s`, expected one of `system`, `user`, `assistant`, `tool`", i, m.Role)
	}
	return nil
}

// checkConversation checks what holds between messages.
func checkConversation(r *Request) *refusal {
	ids := map[string]int{}      // every call id and where it was made
	open := map[string]bool{}    // calls of the latest reply that wait for a result
	answered := map[string]int{} // results, by call id
	from := 0                    // the reply that made the open calls
	unpaired := func(at int) *refusal {
		return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following messages[%d], found none at messages[%d])", from, at)
	}
	for i, m := range r.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return unpaired(i)
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
		return unpaired(len(r.Messages))
	}
	if last := r.Last().Role; last != "user" && last != "tool" {
		return invalid("The last message must be a user or tool message, but messages[%d] is %s", len(r.Messages)-1, last)
	}
	return nil
}
