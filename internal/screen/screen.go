// Package screen makes what strangers wrote safe to show: nothing in it moves a cursor or reorders text.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Sanitize makes text of strangers safe to show on a terminal, and visible:
// escape and other control characters become their pictures (ESC is ␛, so that
// no sequence begins), C1 controls and characters that reorder text become
// \u escapes, invalid UTF-8 becomes U+FFFD. Newlines and tabs stay. It is for
// screens; what others wrote into a room is stored and sent to a model as it is.
func Sanitize(s string) string { return visible(s, unsafe) }

// SanitizeControls is Sanitize for lines of a room: they keep U+2028 and U+2029, which only some terminals take for a
// newline.
func SanitizeControls(s string) string { return visible(s, control) }

func visible(s string, escaped func(rune) bool) string {
	if !strings.ContainsFunc(s, escaped) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s { // invalid bytes arrive as U+FFFD
		switch {
		case !escaped(r):
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

// control reports C0 and C1 controls, DEL, and the embeddings, overrides and isolates of bidirectional text.
func control(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r <= 0x9f:
		return true
	}
	return 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

func unsafe(r rune) bool { return control(r) || r == 0x2028 || r == 0x2029 }

// JSON is a value of ours as one line of JSON, with what some terminals obey as escapes, too.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings, numbers and times: cannot fail
	return controls().ReplaceAllFunc(b.Bytes(), func(r []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(r))[0])
	})
}

// controls are those that encoding/json leaves as they are.
var controls = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[\x7f\u0080-\u009f]") })
