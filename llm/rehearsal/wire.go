package rehearsal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Request is a chat/completions request as it was received and accepted.
type Request struct {
	Model        string
	Messages     []Message
	Tools        []Tool
	ToolChoice   json.RawMessage
	Thinking     bool // on unless the request disables it
	MaxTokens    int  // 0: not given
	IncludeUsage bool
	JSONMode     bool
	UserID       string

	tools  []byte // the tools array, compacted: the head of the prefix
	params []byte // hash of the model and all parameters: part of the prefix
	prefix *prefix
}

// Message is one message of a request. Content and Reasoning are nil when the
// field is absent or null.
type Message struct {
	Role       string
	Content    *string
	Reasoning  *string
	Calls      []Call
	ToolCallID string
}

// Text is the content, "" when there is none.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// Call is a tool call; Arguments is the JSON text as it stands on the wire.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is an offered function.
type Tool struct {
	Name       string
	Parameters json.RawMessage
}

// Last is the request's last message.
func (r *Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// offers says whether the request offers a tool of that name.
func (r *Request) offers(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name })
}

type wireRequest struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
	Choice   json.RawMessage   `json:"tool_choice"`
	Thinking *struct {
		Type string `json:"type"`
	} `json:"thinking"`
	Effort        *string         `json:"reasoning_effort"`
	MaxTokens     json.RawMessage `json:"max_tokens"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	Stream        bool            `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat *struct {
		Type string `json:"type"`
	} `json:"response_format"`
	UserID string `json:"user_id"`
}

type wireMessage struct {
	Role       string          `json:"role"`
	Content    *string         `json:"content"`
	Reasoning  *string         `json:"reasoning_content"`
	Calls      json.RawMessage `json:"tool_calls"`
	ToolCallID *string         `json:"tool_call_id"`
}

type wireCall struct {
	ID       *string `json:"id"`
	Type     string  `json:"type"`
	Function *struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// absent says whether a raw field was missing or null.
func absent(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// paramHash hashes every top-level field that belongs to the prefix without
// being text of it: all but the messages, the tools, and how to deliver.
func paramHash(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	for _, k := range []string{"messages", "tools", "stream", "stream_options"} {
		delete(fields, k)
	}
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		var c bytes.Buffer
		if err := json.Compact(&c, fields[k]); err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%q=%q\n", k, c.Bytes())
	}
	return h.Sum(nil), nil
}
