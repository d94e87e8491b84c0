package rehearsal

import (
	"encoding/json"
	"slices"
)

// Request is a chat/completions request as it was received and accepted.
type Request struct {
	Model        string
	Messages     []Message
	Tools        []string // names of the offered functions
	Thinking     bool     // on unless the request disables it
	MaxTokens    int      // 0: not given
	IncludeUsage bool

	head, tools string // what belongs to the prefix beside the messages: parameters, and the tools in JSON
}

// ends measures the request, with more messages behind it.
func (r *Request) ends(more ...Message) []end {
	return ends(r.head, r.tools, slices.Concat(r.Messages, more)...)
}

// Message is one message of a request. Content and Reasoning are nil when the
// field is absent or null.
type Message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	Reasoning  *string `json:"reasoning_content"`
	Calls      []Call  `json:"-"`
	ToolCallID string  `json:"tool_call_id"`
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

// Last is the request's last message.
func (r *Request) Last() Message { return r.Messages[len(r.Messages)-1] }

type wireRequest struct {
	Model         string
	Messages      []wireMessage
	Tools         json.RawMessage
	Thinking      struct{ Type string }
	Effort        string `json:"reasoning_effort"`
	MaxTokens     *int   `json:"max_tokens"`
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	UserID string `json:"user_id"`
}

type wireMessage struct {
	Message
	Calls *[]wireCall `json:"tool_calls"`
}

type wireCall struct {
	ID, Type string
	Function struct{ Name, Arguments string }
}

type wireTool struct {
	Type     string
	Function struct {
		Name       string
		Parameters struct{ Type string }
	}
}
