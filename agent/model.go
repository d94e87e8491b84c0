package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/internal/durable"
	"lethe/life/event"
)

// call is what one call of the model or of a tool needs and leaves. The call's own
// goroutine writes to it, and that of Run reads it when the call has ended; only
// lastPiece may be used by both.
type call struct {
	streamed streamed               // of the model's answer; kept when a /stop ends the call
	intent   intent                 // of the tool's
	hooked   map[string]hook.Answer // what hooks said of calls, by their ids
	share    int                    // weighted characters that a tool's result may show

	lastPiece atomic.Pointer[time.Time] // when the answer's newest piece came, or the call began; nil while no model is asked
}

// outage is how long the model could not be asked.
type outage struct {
	since   time.Time
	retryAt time.Time // when it is asked again
	noSpace error     // why an answer could not be written down; nil when it could
	money   string    // what the budget is put aside for; "" when there is enough
	failed  []string  // models that another one stood in for since the last reply
}

// again has the model asked again: after twice the time for which it could not be, within bounds.
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

// thought is what came of asking the model.
type thought struct {
	reply  llm.Reply
	asked  llm.Request
	weight int              // of the request
	cost   event.Tokens     // of the reply
	lost   event.Spent      // what has been paid for nothing: attempts that failed, answers that were cut off
	call   *budget.Attempts // whose hold the reply pays
	heard  time.Time        // the last piece of an answer, or when the first was awaited
}

// drop says that no line will tell of the reply: what it has cost is lost.
func (t *thought) drop() error {
	t.lost.Calls++
	t.lost.Add(t.cost)
	err := t.call.End(t.lost.Tokens, false)
	t.lost.Tokens = t.call.Note(t.lost.Tokens, 0)
	return err
}

// think calls the model, and listens for commands meanwhile.
func (a *Agent) think(ctx context.Context) (t thought, err error) {
	r, rates := a.request(), a.rates()
	t.asked, t.weight = r, r.Weight()
	pay := a.wallet.Pay(rates)
	t.call = pay.Attempts(&r)
	a.call.piece()
	a.show(status.Thinking, "")
	defer func() {
		t.heard = *a.call.lastPiece.Swap(nil)
		a.screen.Begin(status.Live{})
	}()
	model, on := a.cfg.Model, a.stream()
	failed := a.during(ctx, func(ctx context.Context) {
		t.reply, err = model.Complete(ctx, r, func(d llm.Delta) { on(ctx, d) })
	})
	if failed != nil { // what it has cost is not known; the hold stays
		return t, failed
	}
	waste := rates.Billed(t.reply.Waste)
	t.lost = event.Spent{On: "turn", Calls: waste.Calls, Estimated: waste.Uncounted > 0, Tokens: rates.Wasted(r, waste)}
	kept := err == nil && t.reply.Finish != "length"
	if err == nil {
		t.cost = rates.Answered(r, t.reply)
		if !kept {
			t.lost.Calls++
			t.lost.Add(t.cost)
		}
	}
	if why := t.call.End(t.lost.Tokens, kept); why != nil {
		err = why
	}
	t.lost.Tokens, t.cost = pay.Note(t.lost.Tokens, 0), pay.Note(t.cost, t.call.Open)
	t.reply = t.reply.Redacted() // before anything is cut out of it
	return t, err
}

// during runs f beside the agent's goroutine, which goes on listening for
// commands and so changes the state: f reads a copy instead. f's context ends with ctx, at a /stop and when
// a stop is asked for. It returns when f has returned.
func (a *Agent) during(ctx context.Context, f func(ctx context.Context)) error {
	if err := a.log.Check(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() { cancel(); <-done }() // also when this panics: f writes to the wallet
	var crash error
	go func() { // ends with f, which ends soon after its context
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				a.cfg.Log.Error("panic", "value", p, "stack", string(debug.Stack()))
				crash = fmt.Errorf("panic: %v", p)
			}
		}()
		f(ctx)
	}()
	for { // what was there before, the look at the beginning of the round has found
		var post <-chan time.Time
		if ctx.Err() == nil {
			post = alarm(a.outbox.nextPost())
		}
		select {
		case <-done:
			return crash
		case <-a.changed:
		case <-post:
		case <-time.After(a.cfg.quiet / 20): // does the model still say something?
		}
		stop, err := a.pollCommands(true)
		a.readWishes()
		if stop || err != nil || a.wished(home.WishStop) {
			cancel()
		}
		if err != nil {
			<-done
			return err
		}
		if !a.silence().Equal(a.shown.SilentSince) {
			a.show(a.shown.State, a.shown.Tool)
		}
	}
}

// alarm is a channel that has something at a time; never, if it is zero.
func alarm(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// quietAfter is for how long nothing may come of an answer before people are told.
// What only keeps the connection alive is nothing.
const quietAfter = 20 * time.Second

// piece notes that something has come of an answer, or that it is awaited.
func (c *call) piece() {
	now := time.Now()
	c.lastPiece.Store(&now)
}

// silence is since when nothing has come of an answer that is awaited, once it is long.
func (a *Agent) silence() (since time.Time) {
	if last := a.call.lastPiece.Load(); last != nil && time.Since(*last) >= a.cfg.quiet {
		since = last.UTC()
	}
	return since
}

// An answer with its blobs and lines needs this much of the disk, in bytes. While
// there is less, the disk is looked at from time to time.
const (
	answerBytes  = 1 << 20
	diskInterval = 5 * time.Second
)

// writable returns why an answer of the model could not be written down now. Any goroutine may call it.
func (a *Agent) writable() error { return durable.Space(a.id.Dir, answerBytes) }

// canRecord reports whether the model may be asked: an answer that could not be
// written down would be paid for, thrown away and asked for again.
func (a *Agent) canRecord() bool {
	was := a.outage.noSpace
	a.outage.noSpace = a.writable()
	if a.outage.noSpace == nil {
		return true
	}
	a.outage.retryAt = time.Now().Add(diskInterval)
	if was == nil {
		a.cfg.Log.Error(a.outage.waitsFor())
	}
	return false
}

// failed decides what a model call without a reply means.
func (a *Agent) failed(ctx context.Context, t thought, err error) error {
	if unpaid, err := a.unpaid(err); unpaid || err != nil {
		return err
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err // not the model's: the log, the disk
	}
	switch e.Kind {
	case llm.Canceled:
		return nil // /stop, or the daemon's own end: advance sees which
	case llm.Overflow:
		if again, err := a.overflowed(e); again || err != nil {
			return err
		}
	}
	since, most := cmp.Or(a.outage.since, t.heard), 5*time.Minute
	left := a.cfg.patience - time.Since(since)
	if e.Kind == llm.Permanent || e.Kind != llm.Overflow && left <= 0 {
		others := append([]string{cmp.Or(a.state.Away, a.state.Stable.Params.Model)}, a.cfg.Fallback...)
		if turned, err := a.turnTo(ctx, e, others...); turned || err != nil {
			return err
		}
	} else if len(a.cfg.Fallback) > 0 {
		most = left
	}
	away := a.state.Away
	if e.Kind == llm.Overflow || e.Kind == llm.Permanent && (away == "" || slices.Contains(a.outage.failed, away)) {
		return a.pause(
			e.Error(),
			"The model refuses: "+sentence(e)+" I wait until you write again, perhaps with /model NAME.",
			time.Time{},
		)
	}
	// The network is away, or the provider. Ask again, more and more rarely, and
	// say so once.
	a.outage.since = since
	wait := a.outage.again(5*time.Second, most)
	a.cfg.Log.Warn("the model cannot be reached", "error", e, "again_in", wait.Round(time.Second))
	trouble := event.Error{What: "model", Failure: e.Kind.String(), Text: e.Error()}
	if a.state.Told != trouble.What {
		trouble.Notice = a.notice("I cannot reach the model: "+sentence(e)+" I keep trying.", a.audience()...)
	}
	return a.happen(trouble)
}

// sentence ends an error with one full stop, whatever it ended with.
func sentence(err error) string { return strings.TrimRight(err.Error(), ". ") + "." }
