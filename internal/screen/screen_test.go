package screen_test

import (
	"lethe/internal/screen"
	"testing"
)

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\tétext 👩‍👩‍👧": "plain\n\tétext 👩‍👩‍👧",
		"\x1b[2J\x1b]0;x\x07":  "␛[2J␛]0;x␇",
		"a\rb\x00\x7f":         "a␍b␀␡",
		"\u009b31m":            `\u009b31m`,
		"a\u202eb\u2066":       `a\u202eb\u2066`,
		"a\u2028b":             `a\u2028b`,
		"a\xffb":               "a\uFFFDb",
	} {
		if got := screen.Sanitize(in); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want)
		}
	}
}
