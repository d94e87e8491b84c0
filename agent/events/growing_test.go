package events_test

import (
	"lethe/agent/events"
	"strings"
	"testing"
)

// A text that grows is shown once: whatever piece a client joins at, and when the model is asked again.
func TestGrowing(t *testing.T) {
	delta := func(from int64, text string) events.Event {
		return events.Event{Type: events.MessageDelta, Entry: "e2", Call: events.Call{Offset: from}, Text: text}
	}
	done := events.Event{Type: events.MessageDone, Entry: "e2", Text: "one two three"}
	for name, c := range map[string]struct {
		pieces []events.Event
		shown  string
	}{
		"in pieces":        {[]events.Event{delta(0, "one"), delta(3, " two"), delta(7, " three"), done}, "one two three"},
		"from the middle":  {[]events.Event{delta(8, " two"), done}, "one two three"},
		"at its end alone": {[]events.Event{done}, "one two three"},
		"begun anew":       {[]events.Event{delta(0, "eins zwei"), delta(0, ""), delta(0, "one"), done}, "eins zwei\n\none two three"},
		"behind another":   {[]events.Event{{Type: events.MessageDone, Entry: "e1", Text: "so"}, delta(0, ""), done}, "so\n\none two three"},
	} {
		var g events.Growing
		var b strings.Builder
		for _, e := range c.pieces {
			b.WriteString(g.More(e, e.Type == events.MessageDone))
		}
		if b.String() != c.shown {
			t.Errorf("%s: %q, want %q", name, b.String(), c.shown)
		}
	}
}
