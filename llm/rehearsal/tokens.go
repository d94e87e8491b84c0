package rehearsal

import "unicode"

// Tokens estimates how many tokens a text is: four ASCII characters, two other
// letters, or one CJK character make a token, and a started token counts. It is
// deliberately simple, so that a test can compute it by hand; DeepSeek's own page
// gives 0.3 tokens for an English character and 0.6 for a Chinese one.
func Tokens(text string) int {
	q := 0
	for _, r := range text {
		q += quarters(r)
	}
	return tokensOf(q)
}

// messageQuarters is the cost of a message's frame, in quarter tokens: four
// tokens for role and separators.
const messageQuarters = 16

func tokensOf(quarters int) int { return (quarters + 3) / 4 }

// quarters is the cost of a rune in quarter tokens.
func quarters(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case r < 0x2e80 && !unicode.IsSymbol(r):
		return 2
	default: // CJK, emoji, geometric shapes
		return 4
	}
}

// cut returns the longest prefix of text that is at most n tokens.
func cut(text string, n int) string {
	q := 0
	for i, r := range text {
		if q += quarters(r); q > 4*n {
			return text[:i]
		}
	}
	return text
}
