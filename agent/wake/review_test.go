package wake

import (
	"strings"
	"testing"
	"unicode/utf8"

	"lethe/mind"
)

// A review is bounded: of long texts it has the heads, of too many the newest.
func TestReviewIsBounded(t *testing.T) {
	t.Parallel()
	s := mind.New()
	s.Name = "ada"
	for n := 1; n <= 200; n++ {
		e := &mind.Entry{N: n, Kind: mind.Inbound, Room: "dev", Ref: mind.Ref{Short: "0123456789abcdef"}, Text: strings.Repeat("long ", n)}
		s.Live = append(s.Live, e)
	}
	for seen, want := range map[int]string{0: "The first 150 texts are left out.", 190: "… (",
		198: "e199 inbound room=dev hash=0123456789abcdef\n  long long", 199: "… ("} {
		text, last := reviewOf(s, seen)
		if n := utf8.RuneCountInString(text); n > reviewTexts*(reviewChars+100) || last != 200 {
			t.Errorf("after e%d: %d characters, to e%d", seen, n, last)
		}
		if !strings.Contains(text, want) {
			t.Errorf("after e%d: %.300s", seen, text)
		}
	}
}
