package events

import (
	"strings"
	"testing"
)

// A text that grows is shown once: whatever piece a client joins at, and when the model is asked again.
func TestGrowing(t *testing.T) {
	delta := func(from int64, text string) Event {
		return Event{Type: MessageDelta, Entry: "e2", Call: Call{Offset: from}, Text: text}
	}
	done := Event{Type: MessageDone, Entry: "e2", Text: "one two three"}
	for name, c := range map[string]struct {
		pieces []Event
		shown  string
	}{
		"in pieces":        {[]Event{delta(0, "one"), delta(3, " two"), delta(7, " three"), done}, "one two three"},
		"from the middle":  {[]Event{delta(8, " two"), done}, "one two three"},
		"at its end alone": {[]Event{done}, "one two three"},
		"begun anew":       {[]Event{delta(0, "eins zwei"), delta(0, ""), delta(0, "one"), done}, "eins zwei\n\none two three"},
		"behind another":   {[]Event{{Type: MessageDone, Entry: "e1", Text: "so"}, delta(0, ""), done}, "so\n\none two three"},
	} {
		var g Growing
		var b strings.Builder
		for _, e := range c.pieces {
			b.WriteString(g.More(e, e.Type == MessageDone))
		}
		if b.String() != c.shown {
			t.Errorf("%s: %q, want %q", name, b.String(), c.shown)
		}
	}
}
