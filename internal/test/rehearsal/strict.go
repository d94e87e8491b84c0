package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"lethe/agent/llm/rehearsal"
)

// Bounds of the service, from DeepSeek's pricing and API pages.
const (
	DefaultWindow = 1 << 20 // tokens of context
	MaxOutput     = 384 << 10
)

// models are the accepted names, beside names that begin with rehearsal.
var models = []string{"deepseek-v4-pro", "deepseek-flash", "deepseek-v4-flash"}

// Strict returns why DeepSeek would refuse a request; nil if it would not.
func Strict(body []byte) error {
	_, err := refusal(body, DefaultWindow)
	return err
}

// checker keeps the first reason to refuse a request, worded like DeepSeek's, with the index of the message at fault.
type checker struct{ err error }

func (c *checker) unless(ok bool, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf(format, args...)
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

type strictRequest struct {
	Model     string
	Messages  []strictMessage
	Tools     json.RawMessage
	Thinking  struct{ Type string }
	Effort    string `json:"reasoning_effort"`
	MaxTokens *int   `json:"max_tokens"`
	UserID    string `json:"user_id"`
	Stream    bool
}

type strictMessage struct {
	rehearsal.Message
	Calls *[]struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// refusal returns what a request holds before its messages, and why a service with a window of so many tokens refuses it.
func refusal(body []byte, window int) (prefix, error) {
	var request strictRequest
	checker := &checker{}
	if err := json.Unmarshal(body, &request); err != nil {
		checker.parse(false, "%v", err)
		return prefix{}, checker.err
	}
	checker.unless(slices.Contains(models, request.Model) || strings.HasPrefix(request.Model, "rehearsal"),
		"The supported API model names are %s, rehearsal*, but you passed %s.", strings.Join(models, ", "), request.Model)
	most := 0
	if request.MaxTokens != nil {
		most = *request.MaxTokens
		checker.unless(most >= 1 && most <= MaxOutput,
			"Invalid max_tokens value, the valid range of max_tokens is [1, %d]", MaxOutput)
	}
	checker.unless(request.Stream, "This server only streams: stream should be true")
	checker.variant("thinking.type", cmp.Or(request.Thinking.Type, "enabled"), "enabled", "disabled")
	checker.variant("reasoning_effort", cmp.Or(request.Effort, "high"), "low", "high", "max")
	before := prefix{
		Model: request.Model, Thinking: request.Thinking.Type, Effort: request.Effort, MaxTokens: most, UserID: request.UserID,
		Tools: string(request.Tools),
	}
	input := checker.tools(before.Tools)
	checker.unless(len(request.Messages) > 0, "Empty input messages")
	var messages []rehearsal.Message
	for i, message := range request.Messages {
		message.Message.Calls = checker.calls(i, message)
		checker.message(i, message.Message, request.Thinking.Type != "disabled")
		messages = append(messages, message.Message)
		input += message.Message.Tokens()
	}
	checker.conversation(messages)
	checker.unless(input+most <= window, "This model's maximum context length is %d tokens. However, you requested "+
		"%d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
		window, input+most, input, most)
	return before, checker.err
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// offered are tools that were checked: nearly all requests of a life offer the same ones.
type offered struct {
	err    error
	tokens int
}

var offers sync.Map // tools in JSON to offered

// tools checks the offered functions, and returns their tokens.
func (c *checker) tools(raw string) (tokens int) {
	known, ok := offers.Load(raw)
	if !ok {
		alone := &checker{}
		alone.functions([]byte(raw))
		known, _ = offers.LoadOrStore(raw, offered{alone.err, rehearsal.Tokens(raw)})
	}
	if c.err == nil {
		c.err = known.(offered).err
	}
	return known.(offered).tokens
}

// functions checks the names of the offered functions, and that they take an object.
func (c *checker) functions(raw []byte) {
	if len(raw) == 0 {
		return
	}
	var names []string
	var tools []struct {
		Type     string
		Function struct {
			Name       string
			Parameters struct{ Type string }
		}
	}
	err := json.Unmarshal(raw, &tools)
	c.parse(err == nil, "tools: %v", err)
	c.unless(len(tools) > 0, "Invalid 'tools': expected an array with functions, but got an empty one")
	for i, t := range tools {
		name, kind := t.Function.Name, t.Function.Parameters.Type
		c.variant(fmt.Sprintf("tools[%d].type", i), t.Type, "function")
		c.unless(toolName.MatchString(name),
			"Invalid 'tools[%d].function.name': expected a string that matches %s", i, toolName)
		c.unless(!slices.Contains(names, name), "Tool names must be unique: tools[%d].function.name %s", i, name)
		c.unless(kind == "object", "Invalid schema for function '%s' (tools[%d]): "+
			"schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'", name, i, kind)
		names = append(names, name)
	}
}

func (c *checker) calls(i int, message strictMessage) (out []Call) {
	if message.Calls == nil {
		return nil
	}
	c.unless(message.Role == "assistant", "messages[%d]: tool_calls are only allowed on an assistant message", i)
	c.unless(len(*message.Calls) > 0, "Invalid 'messages[%d].tool_calls': empty array. "+
		"Expected an array with minimum length 1, but got an empty array instead.", i)
	for k, call := range *message.Calls {
		at := fmt.Sprintf("messages[%d].tool_calls[%d]", i, k)
		var args map[string]json.RawMessage
		_ = json.Unmarshal([]byte(call.Function.Arguments), &args) // nil, unless it is an object
		c.parse(call.ID != "", "%s: missing field `id`", at)
		c.variant(at+".type", call.Type, "function")
		c.parse(call.Function.Name != "", "%s.function: missing field `name`", at)
		c.unless(args != nil, "%s.function.arguments must be a JSON object", at)
		out = append(out, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return out
}

func (c *checker) message(i int, m rehearsal.Message, thinking bool) {
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
		mustReason := thinking && len(m.Calls) > 0
		c.unless(reasons || !mustReason,
			"The `reasoning_content` in the thinking mode must be passed back to the API. (messages[%d])", i)
	}
}

// conversation checks what holds between messages.
func (c *checker) conversation(messages []rehearsal.Message) {
	ids := map[string]int{}   // every call id and where it was made
	open := map[string]bool{} // calls of the latest reply that wait for a result
	from := 0                 // that reply
	paired := func(at int) {
		c.unless(len(open) == 0, "An assistant message with 'tool_calls' must be followed by tool messages responding to "+
			"each 'tool_call_id'. (insufficient tool messages following messages[%d], found none at messages[%d])", from, at)
	}
	for i, message := range messages {
		if message.Role == "tool" {
			c.unless(open[message.ToolCallID], "Messages with role 'tool' must be a response to a preceding message with "+
				"'tool_calls' (messages[%d], tool_call_id %s)", i, message.ToolCallID)
			delete(open, message.ToolCallID)
			continue
		}
		paired(i)
		for _, call := range message.Calls {
			at, twice := ids[call.ID]
			c.unless(!twice, "Duplicate value for 'tool_calls[].id' %s in messages[%d], first used in messages[%d]",
				call.ID, i, at)
			ids[call.ID], open[call.ID], from = i, true, i
		}
	}
	paired(len(messages))
	if c.err == nil {
		last := messages[len(messages)-1].Role
		c.unless(last == "user" || last == "tool",
			"The last message must be a user or tool message, but messages[%d] is %s", len(messages)-1, last)
	}
}
