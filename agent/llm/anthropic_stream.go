package llm

import (
	"encoding/json"
	"unicode/utf8"
)

// happening is an event of Anthropic's stream.
type happening struct {
	Type    string
	Index   int // of the block
	Message struct {
		Model string
		Usage anthropicUsage
	}
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Text, Thinking, Signature string
		JSON                      string `json:"partial_json"`
		Stop                      string `json:"stop_reason"`
	}
	Usage anthropicUsage
}

// anthropicUsage is what has been used by then.
type anthropicUsage struct {
	Input   int `json:"input_tokens"` // but for the two below
	Cached  int `json:"cache_read_input_tokens"`
	Written int `json:"cache_creation_input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// happen adds one event of Anthropic's.
func (d *draft) happen(data []byte, redact func(string) string) error {
	var e happening
	if err := json.Unmarshal(data, &e); err != nil {
		return unreadable(data, redact)
	}
	var c choice
	switch e.Type {
	case "error":
		p, _ := parseProblem(data)
		return p.error(0, redact)
	case "message_start":
		d.reply.Model = e.Message.Model
		d.use(e.Message.Usage)
	case "message_delta":
		d.use(e.Usage)
		c.FinishReason = e.Delta.Stop
	case "content_block_start":
		c = d.begins(e)
	case "content_block_delta":
		c = d.goesOn(e)
	default: // a ping, the end of a block or of the message
		return nil
	}
	d.add(c)
	if n := len(d.opaque) - 1; n >= 0 && d.opaque[n]["thinking"] != nil {
		d.opaque[n]["thinking"] = d.reasoning.String()[d.thought:]
	}
	d.tell()
	return nil
}

// use counts. The last event tells all of the answer, and not always the request.
func (d *draft) use(u anthropicUsage) {
	was := d.reply.Usage
	in := max(u.Input, 0) + max(u.Cached, 0) + max(u.Written, 0)
	if in > was.Input {
		was.Input, was.Cached, was.Written = in, max(u.Cached, 0), max(u.Written, 0)
	}
	was.Output = max(was.Output, u.Output)
	was.Reasoning = min(max(was.Reasoning, u.Details.Thinking), was.Output)
	d.reply.Usage = was
}

// begins notes a block: thinking as it comes, and of others the place.
func (d *draft) begins(e happening) (c choice) {
	block := object{}
	_ = json.Unmarshal(e.Block, &block) // what is none says nothing
	d.weight += len(e.Block)
	c.Delta.Reasoning.text = word(block["thinking"])
	switch block["type"] {
	case "text":
		c.Delta.Content.text = word(block["text"])
		block = object{"type": "text", "runes": utf8.RuneCountInString(c.Delta.Content.text)}
	case "tool_use":
		var head fragment
		head.Index, head.ID, head.Function.Name = &e.Index, word(block["id"]), word(block["name"])
		c.Delta.ToolCalls = []fragment{head}
		block = object{"type": "tool_use", "id": block["id"]}
	}
	d.opaque, d.thought = append(d.opaque, block), d.reasoning.Len()
	return c
}

// goesOn adds to the block that began last.
func (d *draft) goesOn(e happening) (c choice) {
	n := len(d.opaque) - 1
	if n < 0 {
		return c
	}
	block := d.opaque[n]
	c.Delta.Content.text, c.Delta.Reasoning.text = e.Delta.Text, e.Delta.Thinking
	if runes, ok := block["runes"].(int); ok {
		block["runes"] = runes + utf8.RuneCountInString(e.Delta.Text)
	}
	if e.Delta.JSON != "" {
		var more fragment
		more.Index = &e.Index
		more.Function.Arguments, _ = encode(e.Delta.JSON) // a text: cannot fail
		c.Delta.ToolCalls = []fragment{more}
	}
	if e.Delta.Signature != "" {
		block["signature"] = e.Delta.Signature
		d.weight += len(e.Delta.Signature)
	}
	return c
}
