package compactor

import (
	"slices"
	"strings"
	"testing"

	"lethe/mind"
)

// fire adds the line of a trigger and what is said to it.
func (w *world) fire(answer string) {
	w.t.Helper()
	n := w.state.Next
	w.hear("ada", "the disk is nearly full")
	e := w.state.Entry(n)
	e.Text = strings.Replace(e.Text, "[USER:ada", "[AGENT:cron-beat", 1)
	w.reply(answer)
}

// A trigger's line that nothing had to be said about fades first and unread, and only its
// gist stays; a user's is summarised whatever was answered.
func TestQuietTurnsFadeUnread(t *testing.T) {
	w := newWorld(t, 30_000)
	w.turns(3, 700)
	from := w.state.Next
	for range 8 {
		w.fire(mind.Nothing)
	}
	to := w.state.Next - 1
	w.fire("I have cleaned up.")
	w.hear("ada", strings.Repeat("keep this in mind, please. ", 40))
	w.reply(mind.Nothing)
	w.turns(12, 700)
	model := able(4, 5)
	w.set.Target = 0.8
	j := w.plan()
	fades := j.fades(t.Context(), model)
	for _, a := range model.asked {
		if f, l := taskRange(a); a.Task == Summarise && f <= to && l >= from {
			t.Errorf("the model was asked about e%d..e%d", f, l)
		}
	}
	quiet := 0
	for _, f := range fades {
		if f.Summary != "" || f.Gist == "" {
			continue
		}
		quiet++
		if f.From != from || f.To != to || f.Relevance != 1 {
			t.Errorf("e%d..e%d fades without a summary, want e%d..e%d", f.From, f.To, from, to)
		}
	}
	w.set.Target = 0.99 // as little as may be: the quiet ones, and what a summary was asked for
	out := w.swap(slices.DeleteFunc(fades, func(f Fade) bool { return !f.Mechanical }))
	if quiet != 1 || out.Faded != 1 || len(out.Context.Faded) != 1 || out.Context.Faded[0].Level != mind.Gist {
		t.Errorf("%d quiet stretches; faded: %+v", quiet, out.Context.Faded)
	}
	w.conserved()
	if got := w.plan().Mechanical(); len(got) == 0 {
		t.Error("nothing is left to forget")
	}
}
