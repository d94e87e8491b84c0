// Package message defines the messages of a request, which a mind renders and a client encodes, and their weight.
package message

import "cmp"

// Message is one message of a request.
type Message struct {
	Role      string  `json:"role"` // "system", "user", "assistant" or "tool"
	Content   Content `json:"content"`
	Reasoning string  `json:"reasoning_content,omitempty"` // assistant: its thinking, which some presets send back
	Calls     []Call  `json:"tool_calls,omitempty"`        // assistant: the tools it called
	Opaque    string  `json:"opaque,omitempty"`            // assistant: JSON that its provider wants back unchanged
	CallID    string  `json:"tool_call_id,omitempty"`      // tool: the call that this message answers
	// Aside marks a user message of the daemon, a remark on the message before it. If roles
	// have to take turns, an Aside may become a part of a result; people's words may not, since
	// the model would take them for the tool's. A result that is an Aside has ended its turn
	// unanswered: people's words after it become a part of it.
	Aside bool `json:"-"`
}

// Content is the text of a message, with its pictures.
type Content []Part

// Part is a text, or a blob such as a picture with the text before it.
type Part struct {
	Text string // a model that cannot see the blob gets only this; invalid UTF-8 is sent as U+FFFD
	Ref  string // hash of the blob; "" for a text
}

// Text returns a content of one text.
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
	Opaque    string `json:"opaque,omitempty"` // JSON that the provider wants back unchanged
}

// Callers estimate tokens from weighted characters, because every provider cuts
// text in its own secret way. One weighted character is the share of one ASCII
// letter. DeepSeek documents 0.3 tokens for an English and 0.6 for a Chinese
// character, so CJK weighs double. Other scripts and symbols take more tokens
// still.
const (
	weightLatin  = 2 // Latin with marks, Greek, Cyrillic: two bytes
	weightCJK    = 2
	weightScript = 3 // other scripts and symbols of the basic plane
	weightAstral = 6 // emoji and rare characters, about two tokens

	// A message and a call cost some tokens for their frame.
	weightMessage = 14
	weightCall    = 30
)

// WeightPicture is the weight of a picture: 1,500 tokens, about the cost of the largest pictures that providers take.
const WeightPicture = 4950

// Weight returns the weighted characters of a text. The weight of a
// concatenation is the sum of weights, as long as no rune is cut.
func Weight(text string) (weight int) {
	for _, char := range text {
		switch {
		case char < 0x80:
			weight++
		case char < 0x530:
			weight += weightLatin
		case isCJK(char):
			weight += weightCJK
		case char < 0x10000:
			weight += weightScript
		default:
			weight += weightAstral
		}
	}
	return weight
}

// isCJK covers the common blocks: radicals to unified ideographs, Hangul,
// compatibility and full-width forms.
func isCJK(char rune) bool {
	switch {
	case 0x2E80 <= char && char <= 0x9FFF,
		0xAC00 <= char && char <= 0xD7AF,
		0xF900 <= char && char <= 0xFAFF,
		0xFF00 <= char && char <= 0xFFEF:
		return true
	}
	return false
}

// Weight returns the weighted characters of a message, its frame included.
func (m Message) Weight() int {
	weight := weightMessage + len(m.CallID)
	for _, part := range m.Content {
		weight += Weight(part.Text)
		if part.Ref != "" {
			weight += WeightPicture
		}
	}
	weight += Weight(cmp.Or(m.Opaque, m.Reasoning)) // Opaque includes the reasoning
	for _, call := range m.Calls {
		weight += weightCall + len(call.ID) + Weight(call.Name) + Weight(call.Arguments) + len(call.Opaque)
	}
	return weight
}
