package rehearsal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Request is a chat/completions request as it was received.
type Request struct {
	Model        string
	Messages     []Message
	Tools        []string // names of the offered functions
	Thinking     bool     // on unless the request disables it
	MaxTokens    int      // 0: not given
	IncludeUsage bool

	id    string // names what it asks
	tools string // in JSON
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
	MaxTokens     int `json:"max_tokens"`
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Message
	Calls []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// Strict, when set, is asked of each request why the real service would refuse it; nil is for no reason. It exists for
// tests, which find it in package internal/test/rehearsal. Set it before the first request; it is not guarded.
var Strict func(body []byte) error

// readRequest reads a request that can be answered.
func readRequest(body []byte) (*Request, error) {
	if Strict != nil {
		if err := Strict(body); err != nil {
			return nil, err
		}
	}
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if !w.Stream || len(w.Messages) == 0 {
		return nil, errors.New("a request has messages here, and wants its answer as a stream")
	}
	sum := sha256.Sum256(body)
	r := &Request{
		Model: w.Model, MaxTokens: w.MaxTokens, Thinking: w.Thinking.Type != "disabled",
		IncludeUsage: w.StreamOptions.IncludeUsage, id: hex.EncodeToString(sum[:10]), tools: string(w.Tools),
	}
	var tools []struct{ Function struct{ Name string } }
	_ = json.Unmarshal(w.Tools, &tools) // none, if they are no list of functions
	for _, t := range tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range w.Messages {
		for _, c := range m.Calls {
			m.Message.Calls = append(m.Message.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
		r.Messages = append(r.Messages, m.Message)
	}
	return r, nil
}
