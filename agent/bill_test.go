package agent

import (
	"strings"
	"testing"
	"time"

	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm"
	"lethe/llm/rehearsal"
)

// billed compares what the server has billed with what the life has written down.
func (w *world) billed(id Identity) {
	w.Helper()
	server, own := w.model.Usage(), w.fold(id).Usage
	equal(w, "tokens in", own.Input, int64(server.Input))
	equal(w, "tokens from the cache", own.Cached, int64(server.Cached))
	equal(w, "tokens out", own.Output, int64(server.Output))
}

// Whatever the provider has billed is in LIFE, once, also where no reply came of it.
func TestAllThatWasBilledIsRecorded(t *testing.T) {
	t.Parallel()
	long := text(strings.Repeat("so much to say ", 50))
	for name, c := range map[string]struct {
		step  rehearsal.Step
		calls string // that came to nothing, event by event
	}{
		"cut off once":     {rehearsal.Step{Fault: rehearsal.Length, Answer: long}, "1"},
		"cut off twice":    {rehearsal.Step{Times: 2, Fault: rehearsal.Length, Answer: long}, "2"},
		"given up":         {rehearsal.Step{Times: 4, Fault: rehearsal.Length, Answer: long}, "2 2"},
		"silence":          {rehearsal.Step{Times: 2, Fault: rehearsal.Empty, Answer: text("")}, "2"},
		"blank once":       {rehearsal.Step{Fault: rehearsal.Blank, Answer: text("")}, "1"},
		"no [DONE]":        {rehearsal.Step{Fault: rehearsal.NoDone, Answer: long}, ""},
		"nothing was lost": {rehearsal.Step{Times: 2, Status: 503}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.step.Contains = "talk"
			if c.step.Fault == rehearsal.Length {
				c.step.Contains, c.step.Task = "", "none"
			}
			w := newWorld(t, c.step)
			w.use(llm.Config{MaxRetries: 2})
			id := w.boot("ada", "dev")
			r := w.run(id)
			w.say("dev", "ann", "talk")
			w.eventually("all is said", func() bool { return w.model.Pending() == 0 })
			r.finish()
			var spent []string
			for _, e := range w.events(id, "spent") {
				spent = append(spent, e.Get("calls"))
			}
			equalSlices(t, "calls that came to nothing", spent, strings.Fields(c.calls))
			w.billed(id)
		})
	}
}

// Of a call that ended before the provider told what it cost, an estimate is
// recorded, and marked as one.
func TestWhatWasNotToldIsEstimated(t *testing.T) {
	t.Parallel()
	half := rehearsal.Step{Contains: "talk", Fault: rehearsal.Stall, Answer: text(strings.Repeat("half an answer ", 40))}
	broken := half
	broken.Fault, broken.Times = rehearsal.Truncate, 2
	for name, step := range map[string]rehearsal.Step{"stopped": half, "broken off, twice": broken} {
		w := newWorld(t, step)
		w.use(llm.Config{MaxRetries: 2})
		w.conf.quiet = 200 * time.Millisecond
		id := w.boot("ada", "dev")
		r := w.run(id)
		r.ask("hello")
		before, known := w.model.Usage(), w.fold(id).Usage
		w.say("dev", "ann", "talk")
		if step.Fault == rehearsal.Stall {
			w.shows(id, "half of it has come", func(s status.Status) bool { return !s.SilentSince.IsZero() && status.ReadLive(id.Dir).Text != "" })
			w.say("dev", "ann", "/stop")
		}
		w.answered("dev", 2)
		r.finish()
		spent := w.events(id, "spent")
		if len(spent) != 1 || spent[0].Get("estimated") != "yes" {
			t.Fatalf("%s: spent: %v", name, spent)
		}
		after, own := w.model.Usage(), w.fold(id).Usage
		billed, counted := float64(after.Input-before.Input), float64(own.Input-known.Input)
		if counted < 0.8*billed || counted > 1.2*billed {
			t.Errorf("%s: %v tokens in were counted of %v", name, counted, billed)
		}
		// It ends in the middle, and the server counts the whole answer.
		if cost, _ := event.As[event.Spent](spent[0]); cost.Out < int64(after.Output-before.Output)/4 || cost.Out > int64(after.Output-before.Output) {
			t.Errorf("%s: %d tokens out were counted, the whole answers had %d", name, cost.Out, after.Output-before.Output)
		}
	}
}
