package llm

import "math"

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

// Bounds and start of Estimator.CharsPerToken. No known tokenizer leaves them
// on text that an agent lives on.
const (
	minChars     = 1.5
	maxChars     = 6.0
	defaultChars = 3.3 // 1 / 0.3
)

// Estimator converts weighted characters to tokens for one model, and learns
// from what the provider counted. It is a plain value: the zero value is ready,
// it can be stored as JSON, and equal observations in equal order give equal
// estimates on every machine.
type Estimator struct {
	CharsPerToken float64 `json:"chars_per_token,omitempty"` // weighted characters; 0 means 3.3
	Seen          int     `json:"seen,omitempty"`            // observations taken in, at most 5
}

// Tokens estimates the tokens of that many weighted characters, rounded up.
func (e Estimator) Tokens(chars int) int {
	if chars <= 0 {
		return 0
	}
	return int(math.Ceil(float64(chars) / e.ratio()))
}

// Chars is the largest number of weighted characters that Tokens puts at no
// more than tokens.
func (e Estimator) Chars(tokens int) int {
	if tokens <= 0 {
		return 0
	}
	n := int(float64(tokens) * e.ratio())
	for n > 0 && e.Tokens(n) > tokens {
		n--
	}
	return n
}

// Observe returns an estimator that knows that a request of chars weighted
// characters counted tokens. The first observations weigh more than later ones,
// none less than a fifth. Requests of less than 200 tokens are mostly frame and
// teach nothing.
func (e Estimator) Observe(chars, tokens int) Estimator {
	if chars <= 0 || tokens < 200 {
		return e
	}
	seen := clampChars(float64(chars) / float64(tokens))
	e.Seen = min(max(e.Seen, 0), 5)
	share := max(0.2, 1/float64(e.Seen+2))
	// The conversions forbid fused multiply-add, which differs by machine.
	e.CharsPerToken = clampChars(float64(e.ratio()*(1-share)) + float64(seen*share))
	e.Seen = min(e.Seen+1, 5)
	return e
}

func (e Estimator) ratio() float64 {
	if e.CharsPerToken == 0 {
		return defaultChars
	}
	return clampChars(e.CharsPerToken)
}

func clampChars(r float64) float64 { return min(max(r, minChars), maxChars) }

// Weight returns the weighted characters of a text. The weight of a
// concatenation is the sum of weights, as long as no rune is cut.
func Weight(s string) int {
	n := 0
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

// Weight returns the weighted characters of one message, its frame included.
func (m Message) Weight() int {
	n := weightMessage + Weight(m.Content) + Weight(m.Reasoning) + len(m.CallID)
	for _, c := range m.Calls {
		n += weightCall + len(c.ID) + Weight(c.Name) + Weight(c.Arguments)
	}
	return n
}

// Weight returns the weighted characters of the whole prompt: messages and
// tools. MaxTokens is not part of it.
func (r Request) Weight() int {
	n := Weight(string(r.Tools))
	for _, m := range r.Messages {
		n += m.Weight()
	}
	return n
}
