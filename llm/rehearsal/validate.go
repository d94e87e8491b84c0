package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// checker keeps the first reason to refuse a request, worded like DeepSeek's, with the index of the message at fault.
type checker struct{ *refusal }

func (c *checker) unless(ok bool, format string, args ...any) {
	if !ok && c.refusal == nil {
		c.refusal = invalid(format, args...)
	}
}

// parse refuses a field that cannot be read.
func (c *checker) parse(ok bool, format string, args ...any) {
	c.unless(ok, "Failed to deserialize the JSON body into the target type: "+format, args...)
}

func (c *checker) variant(field, value string, allowed ...string) {
	names := "`" + strings.Join(allowed, "`, `") + "`"
	c.parse(slices.Contains(allowed, value), "%s: unknown variant `%s`, expected one of %s", field, value, names)
}

// parseRequest turns a body into an accepted request or a refusal.
func parseRequest(body []byte, window int) (*Request, *refusal) {
	var w wireRequest
	c := &checker{}
	if err := json.Unmarshal(body, &w); err != nil {
		c.parse(false, "%v", err)
		return nil, c.refusal
	}
	r := &Request{Model: w.Model, Thinking: w.Thinking.Type != "disabled", IncludeUsage: w.StreamOptions.IncludeUsage}
	c.unless(slices.Contains(models, r.Model) || strings.HasPrefix(r.Model, "rehearsal"),
		"The supported API model names are %s, rehearsal*, but you passed %s.", strings.Join(models, ", "), r.Model)
	if w.MaxTokens != nil {
		r.MaxTokens = *w.MaxTokens
		c.unless(r.MaxTokens >= 1 && r.MaxTokens <= MaxOutput,
			"Invalid max_tokens value, the valid range of max_tokens is [1, %d]", MaxOutput)
	}
	c.unless(w.Stream, "This server only streams: stream should be true")
	c.variant("thinking.type", cmp.Or(w.Thinking.Type, "enabled"), "enabled", "disabled")
	c.variant("reasoning_effort", cmp.Or(w.Effort, "high"), "low", "high", "max")
	c.tools(r, w.Tools)
	c.unless(len(w.Messages) > 0, "Empty input messages")
	for i, m := range w.Messages {
		if m.Calls != nil {
			m.Message.Calls = c.calls(i, m)
		}
		c.message(i, r, m.Message)
		r.Messages = append(r.Messages, m.Message)
	}
	c.conversation(r)
	if c.refusal != nil {
		return nil, c.refusal
	}
	r.head = fmt.Sprintf("%q %q %q %d %q", w.Model, w.Thinking.Type, w.Effort, r.MaxTokens, w.UserID)
	r.tools = string(w.Tools)
	request := r.ends()
	input := request[len(request)-1].tokens
	c.unless(input+r.MaxTokens <= window, "This model's maximum context length is %d tokens. However, you requested "+
		"%d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
		window, input+r.MaxTokens, input, r.MaxTokens)
	return r, c.refusal
}

var toolName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// tools checks the offered functions: their names, and that they take an object.
func (c *checker) tools(r *Request, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var tools []wireTool
	err := json.Unmarshal(raw, &tools)
	c.parse(err == nil, "tools: %v", err)
	c.unless(len(tools) > 0, "Invalid 'tools': expected an array with functions, but got an empty one")
	for i, t := range tools {
		name, kind := t.Function.Name, t.Function.Parameters.Type
		c.variant(fmt.Sprintf("tools[%d].type", i), t.Type, "function")
		c.unless(toolName().MatchString(name),
			"Invalid 'tools[%d].function.name': expected a string that matches %s", i, toolName())
		c.unless(!slices.Contains(r.Tools, name), "Tool names must be unique: tools[%d].function.name %s", i, name)
		c.unless(kind == "object", "Invalid schema for function '%s' (tools[%d]): "+
			"schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'", name, i, kind)
		r.Tools = append(r.Tools, name)
	}
}

func (c *checker) calls(i int, m wireMessage) (out []Call) {
	c.unless(m.Role == "assistant", "messages[%d]: tool_calls are only allowed on an assistant message", i)
	c.unless(len(*m.Calls) > 0, "Invalid 'messages[%d].tool_calls': empty array. "+
		"Expected an array with minimum length 1, but got an empty array instead.", i)
	for k, call := range *m.Calls {
		at := fmt.Sprintf("messages[%d].tool_calls[%d]", i, k)
		var args map[string]json.RawMessage
		_ = json.Unmarshal([]byte(call.Function.Arguments), &args) // nil, unless it is an object
		c.parse(call.ID != "", "%s: missing field `id`", at)
		c.variant(at+".type", call.Type, "function")
		c.parse(call.Function.Name != "", "%s.function: missing field `name`", at)
		c.unless(args != nil, "%s.function.arguments must be a JSON object", at)
		out = append(out, Call{call.ID, call.Function.Name, call.Function.Arguments})
	}
	return out
}

func (c *checker) message(i int, r *Request, m Message) {
	c.variant(fmt.Sprintf("messages[%d].role", i), m.Role, "system", "user", "assistant", "tool")
	switch m.Role {
	case "system", "tool":
		c.parse(m.Content != nil, "messages[%d]: missing field `content`", i)
		c.parse(m.Role == "system" || m.ToolCallID != "", "messages[%d]: missing field `tool_call_id`", i)
	case "user":
		c.unless(strings.TrimSpace(m.Text()) != "", "Invalid user message: content must not be empty (messages[%d])", i)
	case "assistant":
		c.unless(m.Text() != "" || len(m.Calls) > 0,
			"Invalid assistant message: content or tool_calls must be set (messages[%d])", i)
		reasons := m.Reasoning != nil && strings.TrimSpace(*m.Reasoning) != ""
		c.unless(reasons || !r.Thinking || len(m.Calls) == 0,
			"The `reasoning_content` in the thinking mode must be passed back to the API. (messages[%d])", i)
	}
}

// conversation checks what holds between messages.
func (c *checker) conversation(r *Request) {
	ids := map[string]int{}   // every call id and where it was made
	open := map[string]bool{} // calls of the latest reply that wait for a result
	from := 0                 // that reply
	paired := func(at int) {
		c.unless(len(open) == 0, "An assistant message with 'tool_calls' must be followed by tool messages responding to "+
			"each 'tool_call_id'. (insufficient tool messages following messages[%d], found none at messages[%d])", from, at)
	}
	for i, m := range r.Messages {
		if m.Role == "tool" {
			c.unless(open[m.ToolCallID], "Messages with role 'tool' must be a response to a preceding message with "+
				"'tool_calls' (messages[%d], tool_call_id %s)", i, m.ToolCallID)
			delete(open, m.ToolCallID)
			continue
		}
		paired(i)
		for _, call := range m.Calls {
			at, twice := ids[call.ID]
			c.unless(!twice, "Duplicate value for 'tool_calls[].id' %s in messages[%d], first used in messages[%d]",
				call.ID, i, at)
			ids[call.ID], open[call.ID], from = i, true, i
		}
	}
	paired(len(r.Messages))
	if c.refusal == nil {
		last := r.Last().Role
		c.unless(last == "user" || last == "tool",
			"The last message must be a user or tool message, but messages[%d] is %s", len(r.Messages)-1, last)
	}
}
