package mind

import (
	"fmt"
	"strings"

	"lethe/blobs"
	"lethe/mind/message"
)

// Params are the parts of a request beside its messages. They change only with
// an epoch.
type Params struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Thinking  string `json:"thinking,omitempty"`
	Effort    string `json:"effort,omitempty"`
	Order     string `json:"order,omitempty"`    // "tail" puts MEMORY and LIFE last
	Endpoint  string `json:"endpoint,omitempty"` // who serves the model
	Asked     string `json:"asked,omitempty"`    // the model that was configured then
	Sees      bool   `json:"sees,omitempty"`     // pictures are shown to the model
}

// SameModel reports whether two epochs ask the same model at the same endpoint.
func (p Params) SameModel(q Params) bool { return p.Model == q.Model && p.Endpoint == q.Endpoint }

// Stable is what every request of an epoch begins with, verbatim, so that a
// resume by a newer program sends the same bytes.
type Stable struct {
	System string `json:"system"`
	Past   string `json:"past"`
	Tools  string `json:"tools,omitempty"` // JSON, as text: inside JSON it would come back as other bytes
	Params Params `json:"params"`
	// Indented: messages show notes as Indent renders them. In the epochs of earlier versions they do not.
	Indented bool `json:"indented,omitempty"`
	// Since is the number of the first entry whose Opaque goes back to the provider. That of earlier entries was made
	// behind another prefix, and providers refuse it there.
	Since int `json:"since,omitempty"`
}

// Notes returns the pins, MEMORY and what is shown of LIFE as they stand in the past,
// without those that go last.
func (s Stable) Notes() string {
	for _, header := range []string{pinsHeader, memoryHeader} {
		if i := strings.Index(s.Past, "\n"+header+"\n"); i >= 0 { // escaped everywhere else
			return s.Past[i+1:]
		}
	}
	return ""
}

// Memory returns MEMORY as it stands in the past: without the space around it, and no more
// than is shown.
func (s Stable) Memory() string {
	_, memory, _ := strings.Cut(s.Past, "\n"+memoryHeader+"\n")
	memory, _, _ = strings.Cut(memory, "\n"+lifeHeader)
	if memory == noMemory {
		return ""
	}
	return blobs.Unescape(memory)
}

// shows is a text with its pictures behind it. One that a person has edited shows none.
func (s Stable) shows(text string, view *Ref, images []string) message.Content {
	content := message.Text(text)
	if view != nil {
		return content
	}
	for _, i := range images {
		hash, size, _ := strings.Cut(i, ":")
		part := message.Part{Text: fmt.Sprintf("\n[image hash=%.16s %s]", hash, size)}
		if s.Params.Sees {
			part.Ref = hash
		}
		content = append(content, part)
	}
	return content
}

// Message is one message of a request.
type Message = message.Message

// NoAnswer stands for the text of a reply that has none, since providers refuse
// an empty assistant message.
const NoAnswer = "(no answer)"

// Nothing is a final text that says that nothing needs to be said. It is recorded and
// not posted.
const Nothing = "(nothing)"

// Messages renders one entry, as the epoch has it: one message, or a whole unit.
func (e *Entry) Messages(epoch Stable) []Message {
	if e.Kind != Reply {
		text := e.Text
		if epoch.Indented && e.Kind == Note { // the daemon begins each line of a hint
			text = Indent(text)
		}
		said := epoch.shows(e.Header()+"\n"+text, e.View, e.Images)
		return []Message{{Role: "user", Content: said, Aside: e.Kind != Inbound}}
	}
	text := e.Text
	if strings.TrimSpace(text) == "" {
		text = ""
		if len(e.Calls) == 0 {
			text = NoAnswer
		}
	}
	back := func(opaque string) string {
		if e.N < epoch.Since || epoch.Params.Order == OrderTail { // what stood before it, MEMORY at the end, is gone
			return ""
		}
		return opaque
	}
	out := []Message{{Role: "assistant", Content: message.Text(text), Reasoning: e.Reasoning, Opaque: back(e.Opaque)}}
	var seen message.Content // not every provider takes pictures in a result
	for k, c := range e.Calls {
		id := fmt.Sprintf("e%d_%d", e.N, k+1)
		call := message.Call{ID: id, Name: c.Tool, Arguments: c.Args, Opaque: back(c.Opaque)}
		out[0].Calls = append(out[0].Calls, call)
		text := c.Text
		if strings.TrimSpace(text) == "" {
			text = "(no output)"
		}
		said := epoch.shows(text, c.View, c.Images)
		if epoch.Params.Sees {
			seen, said = append(seen, said[1:]...), said[:1]
		}
		out = append(out, Message{Role: "tool", Content: said, CallID: id, Aside: c.asks()})
	}
	if len(seen) > 0 {
		out = append(out, Message{Role: "user", Content: seen, Aside: true})
	}
	return out
}
