package acp

import (
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/chat"
	"lethe/events"
)

// A text that grows is shown once: whatever piece a client joins at, and when the model is asked again.
func TestStreamed(t *testing.T) {
	delta := func(from int64, text string) events.Event {
		return events.Event{Type: events.MessageDelta, Entry: "e2", Offset: from, Text: text}
	}
	done := events.Event{Type: events.MessageDone, Entry: "e2", Text: "one two three"}
	for name, c := range map[string]struct {
		pieces []events.Event
		shown  string
	}{
		"in pieces":        {[]events.Event{delta(0, "\n one"), delta(5, " two"), delta(9, " three\n"), done}, "one two three\n"},
		"from the middle":  {[]events.Event{delta(8, " two"), done}, "one two three"},
		"at its end alone": {[]events.Event{done}, "one two three"},
		"begun anew":       {[]events.Event{delta(0, "eins zwei"), delta(0, "one"), done}, "eins zwei\n\none two three"},
		"behind another":   {[]events.Event{{Type: events.MessageDone, Entry: "e1", Text: "so"}, delta(0, ""), done}, "so\n\none two three"},
	} {
		var s streamed
		var b strings.Builder
		for _, e := range c.pieces {
			b.WriteString(s.more(e, e.Type == events.MessageDone))
		}
		if b.String() != c.shown {
			t.Errorf("%s: %q, want %q", name, b.String(), c.shown)
		}
	}
}

func TestOptions(t *testing.T) {
	got := options(chat.Question{Options: []string{"once", "always", "No", "\x1b[2J"}})
	if got[0].Kind != sdk.PermissionOptionKindAllowOnce || got[1].Kind != sdk.PermissionOptionKindAllowAlways || got[2].Kind != sdk.PermissionOptionKindRejectOnce ||
		strings.Contains(got[3].Name, "\x1b") || got[3].OptionId != "\x1b[2J" {
		t.Errorf("%+v", got)
	}
}
