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

// A night turn that only looks and says nothing fades as one that does not look; one that does something is read.
func TestQuietTurnsThatLook(t *testing.T) {
	for args, want := range map[string]bool{
		`LIST {"path":"."}`: true, `READ_FILE {"path":"log"}`: true, `BASH {"command":"tail -n 5 log | head"}`: false,
		`BASH {"command":"tail -n 5 log"}`: true, `BASH {"command":"cat a > b"}`: false, `BASH {"command":"dfx"}`: false,
		`BASH {"command":"make"}`: false, `SAY {"room":"dev","text":"tail"}`: false, `WRITE_FILE {"path":"ls"}`: false,
	} {
		w := newWorld(t, 30_000)
		n := w.state.Next
		w.hear("ada", "the disk is nearly full")
		e := w.state.Entry(n)
		e.Text = strings.Replace(e.Text, "[USER:ada", "[AGENT:cron-beat", 1)
		tool, args, _ := strings.Cut(args, " ")
		w.call(tool, args, "disk: 91 %")
		w.reply(mind.Nothing)
		var turn []unit
		for _, entry := range w.state.Live {
			turn = append(turn, unit{Entry: entry})
		}
		if got := quiet(turn); got != want {
			t.Errorf("%s %s: quiet %v, want %v", tool, args, got, want)
		}
	}
}
