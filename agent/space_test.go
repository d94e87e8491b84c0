package agent

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/llm/rehearsal"
)

// full makes the disk full for what is large while the returned value is true.
func (w *world) full() *atomic.Bool {
	var on atomic.Bool
	on.Store(true)
	lethetest.Break(w, w.home.Dir, func(_ durable.Stage, op, _ string) error {
		if on.Load() && op == "reserve" {
			return syscall.EDQUOT
		}
		return nil
	})
	return &on
}

// While an answer could not be written down, no model is asked for one. That is
// said once, and ends by itself.
func TestNothingIsAskedOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var log lethetest.Log
	w.conf.Log = slog.New(slog.NewTextHandler(&log, nil))
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.ask("dev", "hello")
	r.settled()

	full := w.full()
	looked := func() int { return strings.Count(log.String(), "the model is not asked") }
	w.say("dev", "ann", "hello again")
	w.eventually("it is found full", func() bool { return looked() > 0 })
	contains(t, w.ask("dev", "/status"), "the model is not asked until its answer can be written down: write to ")
	w.shows(id, "the status tells", func(s status.Status) bool {
		return strings.Contains(s.Error, "disk quota exceeded") && s.State == status.Thinking
	})
	lethetest.Must(t, AskToCompact(id))
	w.say("dev", "ann", "are you there?") // a try at once
	w.eventually("the line is heard", func() bool { return len(w.heard(id, "dev")) == 3 })
	full.Store(false)
	w.answered("dev", 3)
	w.eventually("the compaction", func() bool { return len(w.having(id, "epoch", "why", "person")) == 1 || !CompactPending(id) })
	r.finish()
	equal(t, "model calls for answers", len(w.asked())-w.tasks("segment")-w.tasks("summarise"), 2)
	equal(t, "times it was said", looked(), 1)
	s := w.status(id)
	equal(t, "the last word", s.Error, "")
}

// A job of the compactor asks no further when the disk has become full.
func TestCompactorAsksNothingOnAFullDisk(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w := forgetful(t, 60_000, rehearsal.Step{Task: "segment", Hold: hold}, always("noted"))
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.talk(6, 200)
	r.settled()
	lethetest.Must(t, AskToCompact(id))
	w.eventually("the first call", func() bool { return w.tasks("segment") == 1 })
	full := w.full()
	close(hold)
	w.eventually("the job is given up", func() bool { return len(w.events(id, "spent")) == 1 })
	equal(t, "summaries that were asked for", w.tasks("summarise"), 0)
	equal(t, "fades", len(w.events(id, "fade")), 0)
	full.Store(false)
	r.compact()
	r.stop()
	equal(t, "errors", len(w.events(id, "error")), 0)
	w.conserved(id)
}
