package mind_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/mind"
)

// Whatever a text is made of, what is shown of it weighs no more than it may, or
// no more than the mark of what is missing would.
func TestFit(t *testing.T) {
	ref := mind.Ref{Short: "0123456789abcdef", Gist: strings.Repeat("g", 100)}
	weigh := func(s string) int { return len(s) } // an emoji is heavier than a letter
	mark := weigh(mind.Clip(strings.Repeat("x", 1000), 1, true, ref)) + 16
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "\n", "\x00", "\u25c6", "\U0001F600", "word and word ", "\r"})
		var raw string
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			raw += strings.Repeat(piece.Draw(t, "piece"), rapid.IntRange(0, 400).Draw(t, "times"))
		}
		text := blobs.Escape(strings.ReplaceAll(raw, "\x00", "\uFFFD"))
		if got := mind.Result([]byte(raw)); got != text {
			t.Fatalf("unclipped, %q is shown as %q", raw, got)
		}
		runes, most := rapid.IntRange(1, 3000).Draw(t, "runes"), rapid.IntRange(-2000, 4000).Draw(t, "most")
		show := mind.Fit(text, ref.Gist, runes, most, weigh)
		shown := mind.Clip(text, show, true, ref)
		switch {
		case show == 0 && weigh(text) > max(most+mind.LeastCut, mark):
			t.Fatalf("all of a text of %d is shown, and %d may be", weigh(text), most)
		case show == 0 && utf8.RuneCountInString(text) > runes+mind.LeastCut && weigh(text) > mark:
			t.Fatalf("all %d runes are shown, and %d may be", utf8.RuneCountInString(text), runes)
		case show > 0 && weigh(text) <= most+mind.LeastCut && utf8.RuneCountInString(text) <= runes+mind.LeastCut:
			t.Fatalf("%d of %d are shown, and a cut saves little", show, weigh(text))
		case show > runes:
			t.Fatalf("%d runes are shown, and %d may be", show, runes)
		case show > 0 && weigh(shown) > max(most, mark):
			t.Fatalf("%d of %d are shown, and %d may be", weigh(shown), weigh(text), most)
		case show == 0 && shown != text:
			t.Fatal("nothing is to be clipped, and something is")
		}
	})
}
