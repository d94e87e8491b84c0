package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/llm"
	"lethe/life/event"
)

// outage is a time without a model that can be asked.
type outage struct {
	since   time.Time
	retryAt time.Time // when it is asked again
	noSpace error     // why an answer could not be written down; nil when it could
	money   string    // why the budget is put aside; "" when there is enough
	failed  []string  // models that another one stood in for since the last reply
}

// again sets the time of the next try: after twice the length of the outage so far, within bounds.
func (o *outage) again(least, most time.Duration) (wait time.Duration) {
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	wait = min(max(2*now.Sub(o.since), least), most)
	o.retryAt = now.Add(wait)
	return wait
}

// waitsFor says, to people, why the model is not asked; it is empty when there is room.
func (o outage) waitsFor() string {
	switch {
	case o.noSpace != nil:
		return "the model is not asked until its answer can be written down: " + o.noSpace.Error()
	case o.money != "":
		return "the model is asked when calls under way have ended: " + o.money
	}
	return ""
}

// rests reports whether the model is not to be asked yet, since it could not be the last time.
func (t *thinker) rests() bool { return time.Now().Before(t.outage.retryAt) }

// AskAtOnce ends a rest.
func (t *thinker) AskAtOnce() { t.outage.retryAt = time.Time{} }

// idle notes that nothing is done. Where nothing is asked, nothing waits for money.
func (t *thinker) idle() {
	if !t.State.Owes {
		t.outage.money = ""
	}
}

// nextTry is the end of a rest that something waits for; zero if nothing does.
func (t *thinker) nextTry() (at time.Time) {
	if t.State.Owed().Answer || t.outage.noSpace != nil {
		at = t.outage.retryAt
	}
	return at
}

// An answer with its blobs and lines needs this much of the disk, in bytes. While
// there is less, the disk is looked at from time to time.
const (
	answerBytes  = 1 << 20
	diskInterval = 5 * time.Second
)

// writable returns why an answer of the model could not be written down now. Any goroutine may call it.
func (t *thinker) writable() error { return t.space.Look() }

// canRecord reports whether the model may be asked: an answer that could not be
// written down would be paid for, thrown away and asked for again.
func (t *thinker) canRecord() bool {
	was := t.outage.noSpace
	t.outage.noSpace = t.writable()
	if t.outage.noSpace == nil {
		return true
	}
	t.outage.retryAt = time.Now().Add(diskInterval)
	if was == nil {
		t.Log.Error(t.outage.waitsFor())
	}
	return false
}

// lookForSpace looks from time to time whether a disk that was full has space again.
func (t *thinker) lookForSpace() {
	if t.outage.noSpace != nil && !t.rests() {
		t.canRecord()
	}
}

// failed deals with a call that brought no reply: another model stands in, people are told, or it is asked again.
func (t *thinker) failed(ctx context.Context, answer thought, err error) error {
	if unpaid, err := t.unpaid(err); unpaid || err != nil {
		return err
	}
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err // not the model's: the log, the disk
	}
	if failure.Kind == llm.Canceled {
		return nil // /stop, or the daemon's own end: the loop sees which
	}
	refused, overflow := failure.Kind == llm.Permanent, failure.Kind == llm.Overflow
	since, most := cmp.Or(t.outage.since, answer.heard), 5*time.Minute
	left := t.cfg.patience - time.Since(since)
	tooLong := !overflow && left <= 0
	if refused || tooLong {
		others := append([]string{cmp.Or(t.State.Away, t.State.Stable.Params.Model)}, t.cfg.Fallback...)
		if turned, err := t.turnTo(ctx, failure, others...); turned || err != nil {
			return err
		}
	} else if len(t.cfg.Fallback) > 0 {
		most = left
	}
	tried := t.State.Away == "" || slices.Contains(t.outage.failed, t.State.Away)
	noOther := refused && tried
	if overflow || noOther {
		say := "The model refuses: " + sentence(failure) + " I wait until you write again, perhaps with /model NAME."
		return t.Pause(failure.Error(), say, time.Time{})
	}
	// The network is away, or the provider. Ask again, more and more rarely, and
	// say so once.
	t.outage.since = since
	least := 5 * time.Second
	if answer.lost.Calls > 0 { // it was paid for, and the next one is likely to be as bad
		least = time.Minute
	}
	wait := t.outage.again(least, most)
	t.Log.Warn("the model cannot be reached", "error", failure, "again_in", wait.Round(time.Second))
	trouble := event.Error{What: "model", Failure: failure.Kind.String(), Text: failure.Error()}
	if t.State.Told != trouble.What {
		say := fmt.Sprintf("I cannot reach the model: %s I keep trying, next in %s.",
			sentence(failure), wait.Round(time.Second))
		trouble.Notice = t.Notice(say, t.Audience()...)
	}
	return t.Happen(trouble)
}

// sentence ends an error that is no question with one full stop, whatever it ended with.
func sentence(err error) string {
	text := strings.TrimRight(err.Error(), ". ")
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}
