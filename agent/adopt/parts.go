package adopt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// block is a piece of a message, a call or a result, in the words of all formats. Each has a few of the fields.
type block struct {
	Type     string
	Text     string
	Thinking string
	Thought  bool // of Gemini: Text is a thought
	Content  json.RawMessage
	Output   json.RawMessage
	Response json.RawMessage

	ID         string
	CallID     string `json:"call_id"`
	ToolCallID string
	ToolUseID  string `json:"tool_use_id"`
	Name       string
	ToolName   string
	Input      json.RawMessage
	Arguments  json.RawMessage
	Args       json.RawMessage
	Action     json.RawMessage

	FunctionCall     *block
	FunctionResponse *block
	Function         *block // in a call of OpenAI

	Pointer string `json:"asset_pointer"` // of ChatGPT: to a file

	Source     *block // of a picture, as InlineData
	InlineData *block
	MediaType  string `json:"media_type"`
	MimeType   string
	Data       string
	URL        string
	ImageURL   json.RawMessage `json:"image_url"`
}

// parts returns an entry for each block of a message's content, which may be a text. A result is the tool's, a call and
// a thought are the assistant's; else Who is empty. An entry may be empty.
func (s *Stream) parts(content json.RawMessage) (all []Entry) {
	if content = first(bytes.TrimSpace(content)); content == nil {
		return nil
	}
	blocks := []json.RawMessage{content}
	if content[0] == '[' && parse(content, &blocks) != nil {
		s.notUnderstood("block of another shape")
	}
	for _, raw := range blocks {
		all = append(all, s.part(raw))
	}
	return all
}

func (s *Stream) part(raw json.RawMessage) Entry {
	if isText(raw) {
		return Entry{Kind: Said, Text: plain(raw)}
	}
	var b block
	if parse(raw, &b) != nil {
		s.notUnderstood("block of another shape")
		return Entry{}
	}
	call := cmp.Or(b.FunctionCall, b.Function)
	switch {
	case call != nil:
		call.ID = cmp.Or(call.ID, b.ID)
		return call.call()
	case b.FunctionResponse != nil:
		return s.result(b.FunctionResponse)
	case b.InlineData != nil:
		return s.picture(b.InlineData)
	case strings.Contains(b.Pointer, "://"):
		return s.asset(b.Pointer)
	case strings.HasSuffix(b.Type, "_call"):
		b.Name = cmp.Or(b.Name, strings.TrimSuffix(b.Type, "_call"))
		return b.call()
	case strings.HasSuffix(b.Type, "tool_result"), strings.HasSuffix(b.Type, "_output"):
		return s.result(&b)
	}
	kind := blocks.of(cmp.Or(b.Type, "text"))
	if b.Thought {
		kind = "thought"
	}
	switch kind {
	case "said":
		return Entry{Kind: Said, Text: b.Text}
	case "thought":
		return Entry{Who: Assistant, Kind: Thought, Text: cmp.Or(b.Thinking, b.Text)}
	case "call":
		return b.call()
	case "picture":
		return s.picture(cmp.Or(b.Source, &b))
	case "":
		s.unknown("block", b.Type)
	}
	return Entry{}
}

const blocks table = `
	said: text, input_text, output_text, summary_text, reasoning_text, Text, markdown,
	thought: thinking, reasoning,
	call: tool_use, toolCall, server_tool_use, mcp_tool_use,
	picture: image, input_image, image_url, document,
	passed: redacted_thinking, token_budget, flag, tool_reference,`

// picture returns an entry with a picture in base64, or with its address.
func (s *Stream) picture(b *block) Entry {
	var address struct{ URL string }
	if parse(b.ImageURL, &address.URL) != nil {
		_ = parse(b.ImageURL, &address) // it may be missing
	}
	data := cmp.Or(b.Data, b.URL, address.URL)
	kind, picture := decoded(data)
	if picture == nil {
		return Entry{Kind: Said, Text: data}
	}
	return Entry{Kind: Said, Media: media(cmp.Or(kind, b.MediaType, b.MimeType), "", picture)}
}

func (b *block) call() Entry {
	return Entry{
		Who: Assistant, Kind: Call, Call: cmp.Or(b.CallID, b.ToolCallID, b.ID), Tool: cmp.Or(b.Name, b.ToolName),
		Text: plain(first(b.Input, b.Arguments, b.Args, b.Action)),
	}
}

// result returns what a tool returned: a text, blocks, or an object with an output.
func (s *Stream) result(b *block) Entry {
	content := first(b.Content, b.Output, b.Response)
	var object struct{ Output, Content json.RawMessage }
	isObject := len(content) > 0 && content[0] == '{'
	if isObject && parse(content, &object) == nil {
		content = first(object.Output, object.Content, content)
	}
	entry := Entry{Text: plain(content)}
	if len(content) > 0 && content[0] != '{' {
		entry = joined(s.parts(content))
	}
	entry.Who, entry.Kind = Tool, Result
	entry.Call, entry.Tool = cmp.Or(b.CallID, b.ToolCallID, b.ToolUseID, b.ID), cmp.Or(b.Name, b.ToolName)
	return entry
}

// joined returns an entry with all texts, a line each, and all media.
func joined(parts []Entry) (all Entry) {
	var texts []string
	for _, part := range parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
		all.Media = append(all.Media, part.Media...)
	}
	all.Text = strings.Join(texts, "\n")
	return all
}

// plain returns the text of a JSON string, or JSON without spaces.
func plain(raw json.RawMessage) (text string) {
	if isText(raw) {
		if plain, ok := unescaped(raw[1 : len(raw)-1]); ok {
			return string(plain)
		}
		if parse(raw, &text) == nil {
			return text
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return ""
	}
	return compact.String()
}

// unescaped returns what stands in a JSON string. It is faster than the decoders; ok is false for what is left to them.
func unescaped(raw []byte) (text []byte, ok bool) {
	text = make([]byte, 0, len(raw))
	for {
		before, behind, isEscaped := bytes.Cut(raw, []byte{'\\'})
		text = append(text, before...)
		if len(behind) == 0 {
			return text, !isEscaped && utf8.Valid(text)
		}
		letter := strings.IndexByte(`"\/bfnrt`, behind[0])
		if letter < 0 {
			return nil, false
		}
		text, raw = append(text, "\"\\/\b\f\n\r\t"[letter]), behind[1:]
	}
}

func isText(raw []byte) bool { return len(raw) > 1 && raw[0] == '"' && raw[len(raw)-1] == '"' }

// first returns the first value that is there.
func first(values ...json.RawMessage) json.RawMessage {
	for _, value := range values {
		if len(value) > 0 && string(value) != "null" {
			return value
		}
	}
	return nil
}
