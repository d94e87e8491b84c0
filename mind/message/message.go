// Package message has the messages of a request, as a mind renders them and a client encodes them, and their weight.
package message

import "cmp"

// Message is one message of a request.
type Message struct {
	Role      string  `json:"role"` // "system", "user", "assistant" or "tool"
	Content   Content `json:"content"`
	Reasoning string  `json:"reasoning_content,omitempty"` // assistant: its thinking, sent back where the preset wants it
	Calls     []Call  `json:"tool_calls,omitempty"`        // assistant: the tools it called
	Opaque    string  `json:"opaque,omitempty"`            // assistant: JSON that its provider wants back as it is
	CallID    string  `json:"tool_call_id,omitempty"`      // tool: the call that this message answers
	// Aside: a user message that remarks on what stands before it. Where roles have to take
	// turns it becomes a part of a result too; what people say does not, since their words are
	// not to be taken for one. A result that is an Aside has ended its turn: what people say
	// then becomes a part of it, since it has been answered by nobody.
	Aside bool `json:"-"`
}

// Content is the text of a message, and what is shown beside it.
type Content []Part

// Part is a text, or a blob that is shown as it is, such as a picture.
type Part struct {
	Text string // of a blob: what stands before it, and alone where it cannot be seen; invalid UTF-8 is sent as U+FFFD
	Ref  string // hash of the blob; "" for a text
}

// Text is a content of one text.
func Text(s string) Content { return Content{{Text: s}} }

// String returns the texts of a content, one behind the other.
func (c Content) String() (text string) {
	for _, p := range c {
		text += p.Text
	}
	return text
}

// MarshalText writes a content of texts as one text.
func (c Content) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Call is a call of one tool by the model.
type Call struct {
	ID        string `json:"id"` // unique within its reply
	Name      string `json:"name"`
	Arguments string `json:"arguments"`        // as the model wrote them: usually, not always, a JSON object
	Opaque    string `json:"opaque,omitempty"` // JSON that the provider wants back as it is
}

// Tokens are estimated from weighted characters, because every provider cuts
// text differently and none says how. One weighted character is one ASCII
// letter's share; DeepSeek documents 0.3 tokens for an English and 0.6 for a
// Chinese character, so CJK weighs double. Other scripts and symbols are cut
// finer still.
const (
	weightLatin  = 2 // Latin with marks, Greek, Cyrillic: two bytes
	weightCJK    = 2
	weightScript = 3 // other scripts and symbols of the basic plane
	weightAstral = 6 // emoji and rare characters, about two tokens

	// A message and a call cost some tokens for their frame.
	weightMessage = 14
	weightCall    = 30
)

// WeightPicture is what a picture weighs: 1,500 tokens, about as much as the largest that providers show.
const WeightPicture = 4950

// Weight returns the weighted characters of a text. The weight of a
// concatenation is the sum of weights, as long as no rune is cut.
func Weight(s string) (n int) {
	for _, r := range s {
		switch {
		case r < 0x80:
			n++
		case r < 0x530:
			n += weightLatin
		case isCJK(r):
			n += weightCJK
		case r < 0x10000:
			n += weightScript
		default:
			n += weightAstral
		}
	}
	return n
}

// isCJK covers the common blocks: radicals to unified ideographs, Hangul,
// compatibility and full-width forms.
func isCJK(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7AF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0xFF00 && r <= 0xFFEF
}

// Weight returns the weighted characters of messages, their frames included.
func (m Message) Weight() int {
	n := weightMessage + len(m.CallID)
	for _, p := range m.Content {
		if n += Weight(p.Text); p.Ref != "" {
			n += WeightPicture
		}
	}
	n += Weight(cmp.Or(m.Opaque, m.Reasoning)) // what a provider wants back holds the reasoning, too
	for _, c := range m.Calls {
		n += weightCall + len(c.ID) + Weight(c.Name) + Weight(c.Arguments) + len(c.Opaque)
	}
	return n
}
