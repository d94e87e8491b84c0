package rehearsal

import (
	"encoding/json"
	"fmt"
)

// Request is a chat/completions request as it was received and accepted.
type Request struct {
	Model        string
	Messages     []Message
	Tools        []string // names of the offered functions
	Thinking     bool     // on unless the request disables it
	MaxTokens    int      // 0: not given
	IncludeUsage bool

	prefix *Prompt
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

// params are the fields that belong to the prefix without being text of it: all but the
// messages, the tools, and how to deliver.
func (w *wireRequest) params(r *Request) string {
	return fmt.Sprintf("%q %q %q %d %q", w.Model, w.Thinking.Type, w.Effort, r.MaxTokens, w.UserID)
}
