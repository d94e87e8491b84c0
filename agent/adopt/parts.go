package adopt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// block is a piece of a message, as all the formats write it. Each has a few of the fields.
type block struct {
	Type         string
	Text         string
	Thinking     string
	Thought      bool // of Gemini: Text is a thought
	Name         string
	ID           string
	Input        json.RawMessage // of a tool_use
	Arguments    json.RawMessage // of a toolCall
	ToolUseID    string          `json:"tool_use_id"`
	Content      json.RawMessage // of a tool_result
	Data         string          // of an image of pi
	MimeType     string
	Source       *source
	ImageURL     json.RawMessage `json:"image_url"`
	InlineData   *block
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response json.RawMessage
	}
}

// source is the source of an image of Anthropic.
type source struct {
	Data      string
	MediaType string `json:"media_type"`
	URL       string
}

// parts returns an entry for each block of a message's content, which may be a text. A result is the tool's, a call and
// a thought are the assistant's; else Who is empty. An entry may be empty.
func (r *record) parts(content json.RawMessage) (all []Entry) {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || string(content) == "null" {
		return nil
	}
	blocks := []json.RawMessage{content}
	if content[0] == '[' && json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	for _, raw := range blocks {
		all = append(all, r.part(raw))
	}
	return all
}

func (r *record) part(raw json.RawMessage) Entry {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return Entry{Kind: Said, Text: r.text(text)}
	}
	var b block
	if json.Unmarshal(raw, &b) != nil {
		r.notUnderstood("block of another shape")
		return Entry{}
	}
	switch call, response := b.FunctionCall, b.FunctionResponse; {
	case call != nil:
		return r.call(call.ID, call.Name, call.Args)
	case response != nil:
		return r.result(response.ID, response.Name, response.Response)
	case b.InlineData != nil:
		return r.picture(b.InlineData.MimeType, b.InlineData.Data)
	}
	switch b.Type {
	case "", "text", "input_text", "output_text", "summary_text", "reasoning_text", "Text", "markdown":
		if b.Thought {
			return Entry{Who: Assistant, Kind: Thought, Text: r.text(b.Text)}
		}
		return Entry{Kind: Said, Text: r.text(b.Text)}
	case "thinking", "reasoning":
		return Entry{Who: Assistant, Kind: Thought, Text: r.text(cmp.Or(b.Thinking, b.Text))}
	case "redacted_thinking", "token_budget", "flag", "tool_reference":
		return Entry{}
	case "tool_use", "toolCall", "server_tool_use", "mcp_tool_use":
		return r.call(b.ID, b.Name, first(b.Input, b.Arguments))
	case "image", "input_image", "image_url", "document":
		switch {
		case b.Source != nil && b.Source.Data != "":
			return r.picture(b.Source.MediaType, b.Source.Data)
		case b.Source != nil:
			return Entry{Kind: Said, Text: b.Source.URL}
		}
		return r.picture(b.MimeType, cmp.Or(b.Data, addressOf(b.ImageURL)))
	}
	if strings.HasSuffix(b.Type, "tool_result") {
		return r.result(b.ToolUseID, b.Name, b.Content)
	}
	r.notUnderstood("block " + b.Type)
	return Entry{}
}

// addressOf returns the address of an image of OpenAI: a text, or an object with one.
func addressOf(raw json.RawMessage) (address string) {
	var object struct{ URL string }
	if json.Unmarshal(raw, &address) != nil && json.Unmarshal(raw, &object) == nil {
		address = object.URL
	}
	return address
}

// picture returns an entry with a picture in base64, or with its address where data is one.
func (r *record) picture(kind, data string) Entry {
	told, bytes := r.bytes(data)
	if bytes == nil {
		return Entry{Kind: Said, Text: r.text(data)}
	}
	return Entry{Kind: Said, Media: media(cmp.Or(told, kind), "", bytes)}
}

func (r *record) call(id, tool string, arguments json.RawMessage) Entry {
	return Entry{Who: Assistant, Kind: Call, Call: id, Tool: tool, Text: r.plain(arguments)}
}

// result returns what a tool returned: a text, blocks, or an object with an output.
func (r *record) result(id, tool string, content json.RawMessage) Entry {
	entry := Entry{Who: Tool, Kind: Result, Call: id, Tool: tool}
	var object struct{ Output, Content json.RawMessage }
	if json.Unmarshal(content, &object) == nil && len(first(object.Output, object.Content)) > 0 {
		content = first(object.Output, object.Content)
	}
	if len(content) > 0 && content[0] == '{' {
		entry.Text = r.plain(content)
		return entry
	}
	var texts []string
	for _, part := range r.parts(content) {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
		entry.Media = append(entry.Media, part.Media...)
	}
	entry.Text = strings.Join(texts, "\n")
	return entry
}

// plain returns the text of a JSON string, or JSON without spaces.
func (r *record) plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return r.text(text)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return ""
	}
	return r.text(compact.String())
}

// first returns the first value that is there.
func first(values ...json.RawMessage) json.RawMessage {
	for _, value := range values {
		if len(value) > 0 && string(value) != "null" {
			return value
		}
	}
	return nil
}
