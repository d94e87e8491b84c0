package agent

import (
	"time"

	"lethe/internal/durable"
)

// answerSpace is the room in bytes that an answer with its blobs and lines needs.
const answerSpace = 1 << 20

// writable returns why an answer of the model could not be written down now.
func (a *Agent) writable() error { return durable.Space(a.id.Dir, answerSpace) }

// hasSpace reports whether the model may be asked. If its answer could not be
// written down, it would be paid for, thrown away and asked for again; so a.retryAt
// says when to look again, less and less often.
func (a *Agent) hasSpace() bool {
	was := a.noSpace
	a.noSpace = a.writable()
	switch {
	case a.noSpace == nil && was != nil:
		a.cfg.Log.Info("answers of the model can be written down again")
	case a.noSpace != nil && was == nil:
		a.noSpaceSince = time.Now()
		a.cfg.Log.Error("the model is not asked until its answer can be written down", "error", a.noSpace)
	}
	if a.noSpace != nil {
		a.retryAt = time.Now().Add(min(max(time.Since(a.noSpaceSince), time.Second), time.Minute))
	}
	return a.noSpace == nil
}

// waitsForSpace says so to people, or is empty.
func (a *Agent) waitsForSpace() string {
	if a.noSpace == nil {
		return ""
	}
	return "the model is not asked until its answer can be written down: " + a.noSpace.Error()
}
