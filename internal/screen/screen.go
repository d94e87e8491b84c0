// Package screen makes text of strangers safe to show: nothing in it moves a cursor or reorders text.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"lethe/internal/pattern"
)

// Sanitize makes text of strangers safe to show on a terminal, and visible:
// escape and other control characters become their pictures (ESC is ␛, so that
// no sequence begins), C1 controls and characters that reorder text become
// \u escapes, invalid UTF-8 becomes U+FFFD. Newlines and tabs stay. It is for
// screens only: rooms and models keep the text as its author wrote it.
func Sanitize(s string) string { return visible(s, unsafe) }

// SanitizeControls is Sanitize for lines of a room: they keep U+2028 and U+2029, which only some terminals take for a
// newline.
func SanitizeControls(s string) string { return visible(s, control) }

func visible(text string, escaped func(rune) bool) string {
	if !strings.ContainsFunc(text, escaped) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text) + 16)
	for _, char := range text { // invalid bytes arrive as U+FFFD
		switch {
		case !escaped(char):
			out.WriteRune(char)
		case char < 0x20:
			out.WriteRune(0x2400 + char) // Control Pictures: ␀ is U+2400
		case char == 0x7f:
			out.WriteRune(0x2421) // ␡
		default:
			fmt.Fprintf(&out, `\u%04x`, char)
		}
	}
	return out.String()
}

// control reports whether char is a C0 or C1 control, DEL, or an embedding, override or isolate of bidirectional text.
func control(char rune) bool {
	between := func(first, last rune) bool { return first <= char && char <= last }
	switch {
	case char == '\n' || char == '\t':
		return false
	case char < 0x20, between(0x7f, 0x9f):
		return true
	}
	return between(0x202a, 0x202e) || between(0x2066, 0x2069)
}

const lineSeparator, paragraphSeparator = '\u2028', '\u2029'

func unsafe(char rune) bool {
	switch char {
	case lineSeparator, paragraphSeparator:
		return true
	}
	return control(char)
}

// JSON returns a value of strings, numbers and times as one line of JSON. It also escapes the controls that
// encoding/json leaves and some terminals obey.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // cannot fail
	return controls().ReplaceAllFunc(b.Bytes(), func(r []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(r))[0])
	})
}

// controls matches the control characters that encoding/json does not escape.
var controls = pattern.Lazy("[\x7f\u0080-\u009f]")
