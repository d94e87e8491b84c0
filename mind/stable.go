package mind

import (
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/mind/message"
)

// Params are the parameters of a request. They change only with an epoch.
type Params struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Thinking  string `json:"thinking,omitempty"`
	Effort    string `json:"effort,omitempty"`
	Order     string `json:"order,omitempty"`    // "tail" puts MEMORY and LIFE last
	Endpoint  string `json:"endpoint,omitempty"` // the server of the model
	Asked     string `json:"asked,omitempty"`    // the model that was configured when the epoch began
	Sees      bool   `json:"sees,omitempty"`     // the model gets pictures
}

// SameModel reports whether two epochs ask the same model at the same endpoint.
func (p Params) SameModel(q Params) bool { return p.Model == q.Model && p.Endpoint == q.Endpoint }

// Stable is the verbatim beginning of every request of an epoch, so that a resume
// by a newer program sends the same bytes.
type Stable struct {
	System string `json:"system"`
	Past   string `json:"past"`
	Tools  string `json:"tools,omitempty"` // JSON as text, since a JSON value would come back as other bytes
	Params Params `json:"params"`
	// Indented is true if messages show notes as Indent renders them. It is false in epochs of earlier versions.
	Indented bool `json:"indented,omitempty"`
	// Since is the number of the first entry whose Opaque goes back to the provider. Providers refuse the Opaque of
	// earlier entries, which they made behind another prefix.
	Since int `json:"since,omitempty"`
	// Spare is true if nothing stands in for missing reasoning where a reply has no calls. Epochs of earlier versions have
	// false.
	Spare bool `json:"spare,omitempty"`
}

// Notes returns the part of the past from its pins, or else from MEMORY, to its end.
func (s Stable) Notes() string {
	for _, header := range []string{pinsHeader, memoryHeader} {
		if at := strings.Index(s.Past, "\n"+header+"\n"); at >= 0 { // escaped everywhere else
			return s.Past[at+1:]
		}
	}
	return ""
}

// Memory returns MEMORY as the past shows it: trimmed, and cut to its bound.
func (s Stable) Memory() string {
	_, memory, _ := strings.Cut(s.Past, "\n"+memoryHeader+"\n")
	memory, _, _ = strings.Cut(memory, "\n"+lifeHeader)
	if memory == noMemory {
		return ""
	}
	return blobs.Unescape(memory)
}

// shows returns a text with its pictures behind it. A text that a person has edited, with a view, shows no pictures.
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

// NoAnswer replaces the text of an empty reply, since providers refuse an empty
// assistant message.
const NoAnswer = "(no answer)"

// Nothing is the final text of a model that has nothing to say. It is recorded and not
// posted.
const Nothing = "(nothing)"

// Messages renders one entry for an epoch: as one message, or as a whole unit.
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
		// With OrderTail, the MEMORY before it is gone from its place.
		if e.N < epoch.Since || epoch.Params.Order == OrderTail {
			return ""
		}
		return opaque
	}
	out := []Message{{Role: "assistant", Content: message.Text(text), Reasoning: e.Reasoning, Opaque: back(e.Opaque)}}
	var seen message.Content // not every provider takes pictures in a result
	for at, called := range e.Calls {
		id := fmt.Sprintf("e%d_%d", e.N, at+1)
		call := message.Call{ID: id, Name: called.Tool, Arguments: called.Args, Opaque: back(called.Opaque)}
		out[0].Calls = append(out[0].Calls, call)
		text := called.Text
		if strings.TrimSpace(text) == "" {
			text = "(no output)"
		}
		said := epoch.shows(text, called.View, called.Images)
		if epoch.Params.Sees {
			seen, said = append(seen, said[1:]...), said[:1]
		}
		out = append(out, Message{Role: "tool", Content: said, CallID: id, Aside: called.asks()})
	}
	if len(seen) > 0 {
		out = append(out, Message{Role: "user", Content: seen, Aside: true})
	}
	return out
}

// withhold makes later requests leave out the Opaque of all entries before number next, if a live one has any.
func (s *Stable) withhold(live []*Entry, next int) {
	if slices.ContainsFunc(live, (*Entry).opaque) {
		s.Since = next
	}
}
