package agent

import (
	"time"

	"lethe/internal/durable"
)

// answerSpace is the room in bytes that an answer with its blobs and lines needs.
const answerSpace = 1 << 20

// writable returns why an answer of the model could not be written down now.
func (a *Agent) writable() error { return durable.Space(a.id.Dir, answerSpace) }

// noSpace is the trouble that keeps an answer from being written down.
type noSpace struct {
	err   error // nil when there is none
	since time.Time
}

// hasSpace reports whether the model may be asked. If its answer could not be
// written down, it would be paid for, thrown away and asked for again; so a.outage.retryAt
// says when to look again, less and less often.
func (a *Agent) hasSpace() bool {
	was := a.noSpace.err
	a.noSpace.err = a.writable()
	switch {
	case a.noSpace.err == nil && was != nil:
		a.cfg.Log.Info("answers of the model can be written down again")
	case a.noSpace.err != nil && was == nil:
		a.noSpace.since = time.Now()
		a.cfg.Log.Error("the model is not asked until its answer can be written down", "error", a.noSpace.err)
	}
	if a.noSpace.err != nil {
		a.outage.retryAt = time.Now().Add(min(max(time.Since(a.noSpace.since), time.Second), time.Minute))
	}
	return a.noSpace.err == nil
}

// lookForSpace looks again when it is time to.
func (a *Agent) lookForSpace() {
	if a.noSpace.err != nil && !time.Now().Before(a.outage.retryAt) {
		a.hasSpace()
	}
}

// String says what is waited for, to people; it is empty when nothing is.
func (n noSpace) String() string {
	if n.err == nil {
		return ""
	}
	return "the model is not asked until its answer can be written down: " + n.err.Error()
}
