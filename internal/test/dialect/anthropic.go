package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Anthropic speaks as Anthropic's Messages API does. model is an offline model.
func Anthropic(model http.Handler) *Server {
	return &Server{model: model, speak: (*Server).anthropic, seen: map[string]bool{}}
}

type messages struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	Stream    bool
	System    []json.RawMessage
	Messages  []struct {
		Role    string
		Content []json.RawMessage
	}
	Tools []struct {
		Name, Description string
		Schema            json.RawMessage `json:"input_schema"`
	}
	Metadata struct {
		UserID string `json:"user_id"`
	}
	Thinking struct {
		Type, Display string
		Budget        *int `json:"budget_tokens"`
	}
	Output struct{ Effort string } `json:"output_config"`
}

// fields of each type of block, beside type and cache_control; those with ? may be missing.
var fields = map[string]string{
	"text": "text", "tool_use": "id input name", "tool_result": "tool_use_id ?content ?is_error", "image": "source",
	"thinking": "signature thinking", "redacted_thinking": "data",
}

var (
	manualOnly = regexp.MustCompile(`^claude-(3|[a-z]+-4(-[0-5])?(-\d{8})?$)`)
	alwaysOn   = regexp.MustCompile(`^claude-(opus-5-5|fable|mythos)`)
	callID     = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// claude is a request on its way to an answer.
type claude struct {
	checker
	messages
	marks int
	read  sum   // all so far
	ends  []sum // of blocks
	sizes []int // of blocks
	kept  []int // blocks with marks
	chat  []object
}

func anthropicError(r *refusal) any {
	return object{"type": "error", "error": object{"type": r.kind, "message": r.message}, "request_id": "req_1"}
}

func (s *Server) anthropic(w http.ResponseWriter, r *http.Request, body []byte) *refusal {
	no := func(status int, kind, message string) *refusal {
		return &refusal{status, kind, message, anthropicError}
	}
	switch {
	case r.Header.Get("X-Api-Key") == "":
		return no(http.StatusUnauthorized, "authentication_error", "x-api-key header is required")
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		return no(http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	case strings.HasSuffix(r.URL.Path, "/models"):
		_ = json.NewEncoder(w).Encode(object{"data": []object{{"id": "claude-sonnet-5-5", "type": "model"}}})
		return nil
	case r.URL.Path != "/v1/messages":
		return no(http.StatusNotFound, "not_found_error", "Not Found")
	}
	claude := &claude{checker: checker{shape: anthropicError, kind: "invalid_request_error"}}
	claude.decode(body, &claude.messages, "request")
	if claude.no == nil && !strings.HasPrefix(claude.Model, "claude-") {
		return no(http.StatusNotFound, "not_found_error", "model: "+claude.Model)
	}
	if claude.no == nil {
		claude.parameters()
		claude.conversation()
	}
	if claude.no != nil {
		return claude.no
	}
	answer, status, problem := s.ask(r.Context(), claude.request())
	if status != http.StatusOK {
		kind := "api_error"
		if strings.Contains(problem, "maximum context length") {
			kind, problem = "invalid_request_error", "prompt is too long: "+strings.ReplaceAll(problem, "maximum context length is", ">")
		}
		return no(status, kind, problem)
	}
	claude.play(w, answer, s.usage(claude, answer))
	return nil
}

func (c *claude) parameters() {
	manual, t := manualOnly.MatchString(c.Model), c.Thinking
	c.unless(c.MaxTokens > 0, "max_tokens: Field required")
	c.unless(c.Stream, "this server only streams")
	c.unless(slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, c.Output.Effort),
		"output_config.effort: %q", c.Output.Effort)
	c.unless(!manual || c.Output.Effort == "", "This model does not support the effort parameter.")
	switch t.Type {
	case "adaptive":
		c.unless(!manual, "adaptive thinking is not supported on this model")
	case "enabled":
		c.unless(manual, "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and "+
			"\"output_config.effort\" to control thinking behavior.")
		c.unless(t.Budget != nil && *t.Budget >= 1024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		c.unless(t.Budget == nil || *t.Budget < c.MaxTokens, "`max_tokens` must be greater than `thinking.budget_tokens`")
	case "disabled":
		c.unless(!alwaysOn.MatchString(c.Model), "\"thinking.type.disabled\" is not supported for this model.")
	case "":
	default:
		c.unless(false, "thinking.type: %q", t.Type)
	}
	c.unless(t.Type == "enabled" || t.Budget == nil, "thinking.%s.budget_tokens: Extra inputs are not permitted", t.Type)
	c.unless(slices.Contains([]string{"", "summarized", "omitted"}, t.Display), "thinking.display: %q", t.Display)
	names := map[string]bool{}
	for i, tool := range c.Tools {
		var schema struct{ Type string }
		_ = json.Unmarshal(tool.Schema, &schema)
		c.unless(schema.Type == "object", "tools.%d.custom.input_schema.type: Field required", i)
		c.unless(callID.MatchString(tool.Name) && !names[tool.Name], "tools: Tool names must be unique: %q", tool.Name)
		names[tool.Name] = true
	}
	c.read = c.read.with(c.Tools)
}

// block reads a block that stands in a message of a role; "system" for the system message.
func (c *claude) block(raw json.RawMessage, role, at string) (body object) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		c.unless(false, "%s: %v", at, err)
		return object{}
	}
	kind, _ := body["type"].(string)
	allowed := map[string][]string{
		"system": {"text"}, "user": {"text", "image", "tool_result"}, "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
	}
	c.unless(slices.Contains(allowed[role], kind), "%s: Input tag %q found using 'type' does not match any of the expected tags", at, kind)
	if mark, marked := body["cache_control"]; marked {
		c.unless(fmt.Sprint(mark) == "map[type:ephemeral]" && !strings.Contains(kind, "thinking"), "%s.cache_control: %v", at, mark)
		c.marks++
		c.kept = append(c.kept, len(c.ends))
		delete(body, "cache_control")
	}
	known := map[string]bool{"type": true}
	for name := range strings.FieldsSeq(fields[kind]) {
		name, may := strings.CutPrefix(name, "?")
		_, there := body[name]
		c.unless(there || may, "%s.%s.%s: Field required", at, kind, name)
		known[name] = true
	}
	for name := range body {
		c.unless(known[name], "%s.%s.%s: Extra inputs are not permitted", at, kind, name)
	}
	if text, ok := body["text"].(string); kind == "text" {
		c.unless(ok && text != "", "%s: text content blocks must be non-empty", at)
		c.unless(strings.TrimSpace(text) != "", "%s: text content blocks must contain non-whitespace text", at)
	}
	return body
}

// thought checks that a block of thinking comes from here, unchanged.
func (c *claude) thought(body object, at string) {
	text, signature := body["thinking"], body["signature"]
	if body["type"] == "redacted_thinking" {
		text, signature = "", body["data"]
	}
	c.unless(signature == c.read.sign(text.(string)), "%s: Invalid `signature` in `thinking` block", at)
}

// behind adds a block to the part of the request that was read.
func (c *claude) behind(role string, b object) {
	c.read = c.read.with(role, b)
	size, _ := json.Marshal(b)
	c.ends, c.sizes = append(c.ends, c.read), append(c.sizes, len(size))
}

func (c *claude) conversation() {
	for i, raw := range c.System {
		c.behind("system", c.block(raw, "system", fmt.Sprintf("system.%d", i)))
		c.say("system", c.System[i])
	}
	var open []string // calls of the message before
	ids, last := map[string]bool{}, ""
	for i, m := range c.Messages {
		at := fmt.Sprintf("messages.%d", i)
		c.unless(m.Role == "user" || i > 0, "%s: first message must use the \"user\" role", at)
		c.unless(m.Role != last, "messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q "+
			"roles in a row", m.Role)
		c.unless(len(m.Content) > 0, "%s: all messages must have non-empty content", at)
		var message spoken
		for j, raw := range m.Content {
			at := fmt.Sprintf("%s.content.%d", at, j)
			body := c.block(raw, m.Role, at)
			switch body["type"] {
			case "text":
				message.hasText, message.text = true, message.text+body["text"].(string)
				if m.Role == "user" {
					c.say("user", raw)
				}
			case "tool_result":
				c.unless(!message.hasText, "%s: tool_result blocks must stand before text", at)
				open = c.resultOf(open, body, at)
			case "thinking", "redacted_thinking":
				c.thought(body, at)
				message.thinking += cmp.Or(fmt.Sprint(body["thinking"]), "redacted")
			case "tool_use":
				message.calls = append(message.calls, c.called(ids, body, at))
			}
			c.behind(m.Role, body)
		}
		c.unless(len(open) == 0, "%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s", at,
			strings.Join(open, ", "))
		if m.Role == "assistant" {
			c.chat = append(c.chat, message.reply())
		}
		open = nil
		for _, call := range message.calls {
			open = append(open, call["id"].(string))
		}
		last = m.Role
	}
	c.unless(last == "user", "This model does not support assistant message prefill. The conversation must end with a user message.")
	c.unless(c.marks <= 4, "A maximum of 4 blocks with cache_control may be provided. Found %d.", c.marks)
	c.begun()
}

// spoken is the content of one message.
type spoken struct {
	text, thinking string
	hasText        bool
	calls          []object
}

// reply is the message as the offline model reads it.
func (s spoken) reply() object {
	reply := object{"role": "assistant", "content": s.text}
	if len(s.calls) > 0 {
		reply["tool_calls"], reply["reasoning_content"] = s.calls, cmp.Or(s.thinking, "not thought")
	}
	return reply
}

// resultOf reads a tool_result, and returns the open calls without the one that it answers.
func (c *claude) resultOf(open []string, body object, at string) []string {
	id, _ := body["tool_use_id"].(string)
	c.unless(slices.Contains(open, id),
		"%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding "+
			"`tool_use` block in the previous message.", at, id)
	c.result(body, at)
	return slices.DeleteFunc(open, func(s string) bool { return s == id })
}

// called reads a tool_use as a call for the offline model. ids are all so far.
func (c *claude) called(ids map[string]bool, body object, at string) object {
	id, _ := body["id"].(string)
	_, isObject := body["input"].(object)
	c.unless(callID.MatchString(id) && !ids[id], "%s.tool_use.id: `tool_use` ids must be unique: %s", at, id)
	c.unless(isObject, "%s.tool_use.input: Input should be a valid dictionary", at)
	ids[id] = true
	args, _ := json.Marshal(body["input"])
	function := object{"name": body["name"], "arguments": string(args)}
	return object{"id": id, "type": "function", "function": function}
}

// begun checks that with a budget each reply of the turn that goes on begins with thinking.
func (c *claude) begun() {
	if c.Thinking.Type != "enabled" {
		return
	}
	for i, m := range slices.Backward(c.Messages) {
		whole := fmt.Sprintf("%s", m.Content)
		if m.Role == "user" && !strings.Contains(whole, `"tool_result"`) {
			return
		}
		first := string(m.Content[0])
		c.unless(m.Role == "user" || strings.Contains(first, `thinking"`),
			"messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found other. "+
				"When `thinking` is enabled, a final `assistant` message must start with a thinking block", i)
	}
}

func (c *claude) say(role string, raw json.RawMessage) {
	var b struct{ Text string }
	_ = json.Unmarshal(raw, &b)
	c.chat = append(c.chat, object{"role": role, "content": b.Text})
}

func (c *claude) result(body object, at string) {
	text := ""
	list, _ := body["content"].([]any)
	for _, part := range list {
		raw, _ := json.Marshal(part)
		part := c.block(raw, "user", at)
		c.unless(part["type"] != "tool_result", "%s: a result in a result", at)
		said, _ := part["text"].(string)
		text += said
	}
	c.chat = append(c.chat, object{"role": "tool", "tool_call_id": body["tool_use_id"], "content": text})
}

// thinks reports whether the model may think.
func (c *claude) thinks() bool {
	switch c.Thinking.Type {
	case "adaptive", "enabled":
		return true
	case "":
		return strings.Contains(c.Model, "-5-5")
	}
	return false
}

// request returns the request for the offline model.
func (c *claude) request() object {
	r := object{"model": "rehearsal", "max_tokens": c.MaxTokens, "stream": true, "stream_options": object{"include_usage": true},
		"messages": c.chat, "thinking": object{"type": "enabled"}}
	if !c.thinks() {
		r["thinking"] = object{"type": "disabled"}
	}
	var tools []object
	for _, t := range c.Tools {
		tools = append(tools, object{"type": "function",
			"function": object{"name": t.Name, "description": t.Description, "parameters": t.Schema}})
	}
	if len(tools) > 0 {
		r["tools"] = tools
	}
	return r
}

// usage counts: the cache serves the longest beginning that it has taken in at a mark, and takes in the rest up to the
// last mark.
func (s *Server) usage(claude *claude, answer answer) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	total, cached, marked := 0, 0, 0
	for i, size := range claude.sizes {
		total += size
		if s.seen[string(claude.ends[i])] {
			cached = total
		}
		if slices.Contains(claude.kept, i) {
			marked = total
		}
	}
	for _, i := range claude.kept {
		s.seen[string(claude.ends[i])] = true
	}
	read, written := answer.input*cached/max(total, 1), answer.input*max(marked-cached, 0)/max(total, 1)
	return object{"input_tokens": answer.input - read - written, "cache_read_input_tokens": read,
		"cache_creation_input_tokens": written, "output_tokens": 1}
}

// sendBlock streams one block of an answer, in pieces.
func sendBlock(w http.ResponseWriter, i int, body object) {
	piece := func(delta object) { send(w, object{"type": "content_block_delta", "index": i, "delta": delta}) }
	head := object{"type": body["type"]}
	switch body["type"] {
	case "text":
		head["text"] = ""
	case "thinking":
		head["thinking"], head["signature"] = "", ""
	case "redacted_thinking":
		head = body
	case "tool_use":
		head["id"], head["name"], head["input"] = body["id"], body["name"], object{}
	}
	send(w, object{"type": "content_block_start", "index": i, "content_block": head})
	switch body["type"] {
	case "text":
		for _, part := range strings.SplitAfter(body["text"].(string), " ") {
			piece(object{"type": "text_delta", "text": part})
		}
	case "thinking":
		piece(object{"type": "thinking_delta", "thinking": body["thinking"]})
		piece(object{"type": "signature_delta", "signature": body["signature"]})
	case "tool_use":
		args, _ := json.Marshal(body["input"])
		for part := range slices.Chunk([]rune(string(args)), 12) {
			piece(object{"type": "input_json_delta", "partial_json": string(part)})
		}
	}
	send(w, object{"type": "content_block_stop", "index": i})
}

// play streams the answer. Of several calls, some thinking stands before the second.
func (c *claude) play(w http.ResponseWriter, answer answer, usage object) {
	var blocks []object
	sign := func(thought string) {
		kind := object{"type": "thinking", "thinking": thought, "signature": c.read.sign(thought)}
		if thought == "" {
			kind = object{"type": "redacted_thinking", "data": c.read.sign("")}
		}
		blocks = append(blocks, kind)
		c.read = c.read.with("assistant", kind)
	}
	hasThought := answer.reasoning != "" || c.Thinking.Type == "enabled"
	if hasThought && c.thinks() {
		sign(cmp.Or(answer.reasoning, "Hm."))
	}
	if strings.TrimSpace(answer.text) != "" {
		blocks = append(blocks, object{"type": "text", "text": answer.text})
		c.read = c.read.with("assistant", blocks[len(blocks)-1])
	}
	thinksAgain := c.Thinking.Type == "adaptive" && answer.reasoning != ""
	for i, call := range answer.calls {
		if i == 1 && thinksAgain {
			sign("")
		}
		var input object
		d := json.NewDecoder(strings.NewReader(call.Function.Arguments))
		d.UseNumber()
		_ = d.Decode(&input)
		blocks = append(blocks, object{"type": "tool_use", "id": "toolu_" + call.ID, "name": call.Function.Name, "input": input})
		c.read = c.read.with("assistant", blocks[len(blocks)-1])
	}
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": c.Model, "content": []any{},
		"stop_reason": nil, "usage": usage}
	send(w, object{"type": "message_start", "message": message}, object{"type": "ping"})
	for i, block := range blocks {
		sendBlock(w, i, block)
	}
	stop, known := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}[answer.finish]
	if !known { // it broke off
		return
	}
	spent := object{"output_tokens": answer.output, "output_tokens_details": object{"thinking_tokens": answer.thought}}
	send(w, object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": spent},
		object{"type": "message_stop"})
}
