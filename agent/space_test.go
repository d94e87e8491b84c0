package agent

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
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

// While an answer could not be written down, no model is asked for one, also by a job
// of the compactor. That is said once, and ends by itself.
func TestNothingIsAskedOnAFullDisk(t *testing.T) {
	slow(t)
	hold := make(chan struct{})
	w := forgetful(t, 60_000, rehearsal.Step{Task: "segment", Hold: hold}, always("noted"))
	var log lethetest.Log
	w.conf.Log = slog.New(slog.NewTextHandler(&log, nil))
	id, r := w.ada()
	w.talk(20, 60)
	r.settled()

	lethetest.Must(t, home.Ask(id, home.WishCompact))
	w.eventually("the first call of a job", func() bool { return len(w.tasks("segment")) == 1 })
	full := w.full()
	close(hold)
	w.until(id, 1, "spent")
	equal(t, "summaries that were asked for", len(w.tasks("summarise")), 0)
	w.has(id, 0, "fade")

	looked := func() int { return strings.Count(log.String(), "the model is not asked") }
	w.say("dev", "ann", "hello again")
	w.eventually("it is found full", func() bool { return looked() > 0 })
	contains(t, w.ask("dev", "/status"), "the model is not asked until its answer can be written down: write to ")
	w.shows(id, "the status tells", func(s status.Status) bool {
		return strings.Contains(s.Error, "disk quota exceeded") && s.State == status.Thinking
	})
	w.say("dev", "ann", "are you there?") // a try at once
	w.eventually("the line is heard", func() bool { return len(w.heard(id, "dev")) == 22 })
	equal(t, "calls while the disk is full", len(w.asked()), 20+1)
	full.Store(false)
	w.answered("dev", 6+2) // of the status, and of both lines
	r.compact()
	r.checked()
	w.has(id, 0, "error")
	equal(t, "times it was said", looked(), 1)
	equal(t, "the last word", w.status(id).Error, "")
}
