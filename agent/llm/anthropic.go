package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lethe/internal/pattern"
)

// Anthropic is the Dialect of Anthropic's Messages API. What is said here of it stands on platform.claude.com, in
// "Messages", "Prompt caching", "Thinking" and "Prefix checks on thinking blocks".
const Anthropic = "anthropic"

// object is one of JSON; its keys are written in order.
type object = map[string]any

// turn is a message as Anthropic has it: people and model take turns, and results are said by people.
type turn struct {
	Role   string `json:"role"`
	Blocks []any  `json:"content"`
}

// anthropic returns the body of a request. Without the marks for the cache each body of an epoch begins with the one
// before.
func (p PresetInfo) anthropic(r Request) ([]byte, error) {
	var functions []struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	if err := json.Unmarshal(r.Tools, &functions); len(r.Tools) > 0 && err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	var tools []any
	for _, f := range functions {
		f := f.Function
		tools = append(tools, object{"name": f.Name, "description": f.Description, "input_schema": f.Parameters})
	}
	system, turns := p.turns(r)
	most := cmp.Or(r.MaxTokens, 4096) // the API wants a bound
	body := object{"model": r.Model, "stream": true, "max_tokens": most, "messages": turns}
	if len(system) > 0 {
		body["system"] = system
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	if r.UserID != "" {
		body["metadata"] = object{"user_id": r.UserID}
	}
	if !budgeted().MatchString(r.Model) { // others refuse an effort
		p.setThinking(body, r)
	}
	if thinking := thinkingOf(r, most); thinking != nil {
		body["thinking"] = thinking
	}
	mark(system, turns)
	return encode(body)
}

// budgeted are models that want a budget for their thinking; later ones decide by themselves how much they think.
var budgeted = pattern.Lazy(`^claude-(3|[a-z]+-4(-[0-5])?(-\d{8})?$)`)

// always are models that refuse not to think.
var always = pattern.Lazy(`^claude-(fable|mythos|[a-z]+-5-5)`)

// thinkingOf returns the field thinking; nil leaves it out. A model with a budget wants each reply of an unfinished
// turn to begin with its own thinking, so a turn that an epoch has cut ends without any.
func thinkingOf(r Request, most int) object {
	switch {
	case r.Thinking == "", r.Thinking == "disabled" && always().MatchString(r.Model):
		return nil
	case r.Thinking == "disabled":
		return object{"type": "disabled"}
	case !budgeted().MatchString(r.Model):
		return object{"type": "adaptive", "display": "summarized"}
	case most < 2048 || unsigned(r.Messages): // 1024 is the least budget
		return nil
	}
	return object{"type": "enabled", "budget_tokens": most / 2}
}

// unsigned reports whether a reply of the turn that goes on lacks its thinking.
func unsigned(messages []Message) bool {
	for _, m := range slices.Backward(messages) {
		if m.Role != "assistant" {
			continue
		}
		if len(m.Calls) == 0 {
			return false
		}
		if m.Opaque == "" {
			return true
		}
	}
	return false
}

// turns returns the messages as turns, and what stands before them.
func (p PresetInfo) turns(r Request) (system []any, turns []turn) {
	ids := map[string]string{}
	for _, m := range r.Messages {
		if m.Role == "system" {
			system = append(system, r.pictures.blocks(m.Content, shown.block)...)
			continue
		}
		next := turn{"user", r.pictures.blocks(m.Content, shown.block)}
		switch m.Role {
		case "assistant":
			next = turn{"assistant", replyBlocks(m, ids)}
		case "tool":
			result := object{"type": "tool_result", "tool_use_id": cmp.Or(ids[m.CallID], m.CallID)}
			if len(next.Blocks) > 0 {
				result["content"] = next.Blocks
			}
			next.Blocks = []any{result}
		}
		last := len(turns) - 1
		before := "assistant" // a user begins
		if last >= 0 {
			before = turns[last].Role
		}
		switch {
		case next.Role == "user" && before == "user":
			turns[last].Blocks = append(turns[last].Blocks, next.Blocks...)
			continue
		case next.Role == "assistant" && before == "assistant":
			turns = append(turns, turn{"user", say(nil, fillUser)})
		}
		turns = append(turns, next)
	}
	return system, turns
}

// say adds a text that is not blank, since others are refused.
func say(blocks []any, text string) []any {
	if strings.TrimSpace(text) == "" {
		return blocks
	}
	return append(blocks, object{"type": "text", "text": text})
}

// place stands in Message.Opaque for a text or a call, beside thinking as it came: so a reply goes back as it was.
type place struct {
	Type  string // "text" or "tool_use"; of thinking another one
	Runes int    // of a text
	ID    string // of a call, as the provider named it
}

// replyBlocks are the blocks of a reply. ids get the provider's ids of its calls.
func replyBlocks(m Message, ids map[string]string) (blocks []any) {
	var kept []json.RawMessage
	_ = json.Unmarshal([]byte(m.Opaque), &kept) // a stream has made it, or there is none
	text, calls := []rune(m.Content.String()), m.Calls
	tell := func(runes int) {
		runes = max(0, min(runes, len(text)))
		blocks, text = say(blocks, string(text[:runes])), text[runes:]
	}
	use := func(id string) {
		c := calls[0]
		ids[c.ID], calls = cmp.Or(id, c.ID), calls[1:]
		input := json.RawMessage(cmp.Or(c.Arguments, "{}"))
		blocks = append(blocks, object{"type": "tool_use", "id": ids[c.ID], "name": c.Name, "input": input})
	}
	for _, raw := range kept {
		var at place
		_ = json.Unmarshal(raw, &at)
		switch {
		case at.Type == "text":
			tell(at.Runes)
		case at.Type != "tool_use":
			blocks = append(blocks, raw)
		case len(calls) > 0:
			use(at.ID)
		}
	}
	tell(len(text))
	for len(calls) > 0 {
		use("")
	}
	if len(blocks) == 0 {
		blocks = say(nil, fillEmpty)
	}
	return blocks
}

// mark has the cache keep what later requests begin with: the system message, how the epoch begins, and the last two
// results. Four marks are allowed.
func mark(system []any, turns []turn) {
	keep := func(blocks []any, i int) {
		if i >= 0 {
			blocks[i].(object)["cache_control"] = object{"type": "ephemeral"}
		}
	}
	keep(system, len(system)-1)
	left := 2
	for i, t := range slices.Backward(turns) {
		if t.Role != "user" {
			continue
		}
		if i == 0 {
			keep(t.Blocks, 0)
		} else if left > 0 {
			at := len(t.Blocks) - 1
			for k, b := range t.Blocks {
				if b.(object)["type"] == "tool_result" {
					at = k
				}
			}
			keep(t.Blocks, at)
			left--
		}
	}
}
