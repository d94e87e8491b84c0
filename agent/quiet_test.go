package agent

import (
	"strings"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/rehearsal"
)

// A model that sends nothing, or nothing any more, does not look alive.
func TestSilentModelIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "first", Fault: rehearsal.Stall, Answer: text("half of an answer")},
		rehearsal.Step{Contains: "second", Fault: rehearsal.Quiet, Answer: text("never said")})
	w.conf.quiet = 300 * time.Millisecond // longer than a busy machine takes between two pieces
	id, r := w.ada()
	said := 0
	for _, q := range []string{"first", "second"} {
		w.say("dev", "ann", q)
		w.shows(id, "the status tells of "+q, func(s status.Status) bool {
			return s.State == status.Thinking && !s.SilentSince.IsZero() && (q == "second" || status.ReadLive(id.Dir).Text != "")
		})
		for { // on a busy machine a last piece may come after all
			w.say("dev", "ann", "/status")
			said++
			if strings.Contains(w.answered("dev", said), "working; nothing has come from the model for ") {
				break
			}
		}
		w.say("dev", "ann", "/stop")
		said++
		w.answered("dev", said)
		r.settled()
		equal(t, "not silent when idle", w.status(id).SilentSince.IsZero(), true)
	}
	w.say("dev", "ann", "hello")
	if line := w.answered("dev", said+1); strings.Contains(line, "never said") {
		t.Errorf("half an answer was posted: %s", line)
	}
	r.finish()
}
