package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sanitize makes text of strangers safe to show on a terminal, and visible:
// escape and other control characters become their pictures (ESC is ␛, so that
// no sequence begins), C1 controls and characters that reorder text become
// \u escapes, invalid UTF-8 becomes U+FFFD. Newlines and tabs stay. It is for
// screens only; what is stored or sent to a model is not changed.
func Sanitize(s string) string {
	if !strings.ContainsFunc(s, unsafeOnScreen) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s { // invalid bytes arrive as U+FFFD
		switch {
		case !unsafeOnScreen(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // Control Pictures: ␀ is U+2400
		case r == 0x7f:
			b.WriteRune(0x2421) // ␡
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unsafeOnScreen lists C0 and C1 controls, DEL, the embeddings, overrides and
// isolates of bidirectional text, and the two separators that some terminals
// take for a newline.
func unsafeOnScreen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r <= 0x9f:
		return true
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return true
	}
	return r == 0x2028 || r == 0x2029
}
