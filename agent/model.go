package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm"
)

// call is what one call of the model or of a tool needs and leaves. The call's own
// goroutine writes to it, and that of Run reads it when the call has ended; only
// lastPiece may be used by both.
type call struct {
	streamed streamed        // of the model's answer; kept when a /stop ends the call
	granted  map[string]bool // State.Grants for a tool that runs beside the loop
	share    int             // weighted characters that a tool's result may show
	opened   string          // the blob that UNCOMPACT has shown

	lastPiece   atomic.Pointer[time.Time] // when the answer's newest piece came, or the call began; nil while no model is asked
	silentSince time.Time                 // what people are told of it; zero while pieces come
}

// outage is how long the model could not be asked.
type outage struct {
	since   time.Time
	retryAt time.Time // when it is asked again
	noSpace error     // why an answer could not be written down; nil when it could
}

// waitsFor says, to people, why the model is not asked; it is empty when there is room.
func (o outage) waitsFor() string {
	if o.noSpace == nil {
		return ""
	}
	return "the model is not asked until its answer can be written down: " + o.noSpace.Error()
}

// think calls the model, and listens for commands meanwhile. lost is what has been
// paid for nothing: attempts that failed, answers that were cut off.
func (a *Agent) think(ctx context.Context) (reply llm.Reply, weight int, lost bill, err error) {
	r, estimate := a.request(), a.estimate
	weight = r.Weight()
	spare := a.limit() - a.contextTokens() + r.MaxTokens // tokens that the answer may have within the limit
	complete := func(ctx context.Context, r llm.Request) (llm.Reply, error) {
		reply, err := a.cfg.Model.Complete(ctx, r, a.stream(ctx))
		lost.calls += reply.Waste.Calls
		lost.waste(r, reply.Waste, estimate)
		if err == nil && reply.Finish == "length" {
			lost.calls++
			lost.add(r.Model, reply.Usage)
		}
		return redacted(reply), err
	}
	a.call.piece()
	a.show(status.Thinking, "")
	defer func() {
		a.call.lastPiece.Store(nil)
		a.call.silentSince = time.Time{}
		_ = status.WriteLive(a.id.Dir, "")
	}()
	failed := a.during(ctx, func(ctx context.Context) {
		reply, err = complete(ctx, r)
		if err == nil && reply.Finish == "length" && spare > r.MaxTokens {
			again := r
			again.MaxTokens = min(2*r.MaxTokens, spare)
			a.cfg.Log.Warn("the answer was cut off; trying once more with room", "max_tokens", again.MaxTokens)
			if more, merr := complete(ctx, again); merr == nil {
				reply = more
			}
		}
	})
	if failed != nil {
		err = failed
	}
	return reply, weight, lost, err
}

// redacted is a reply without secrets, before anything is cut out of it.
func redacted(r llm.Reply) llm.Reply {
	r.Text, r.Reasoning = secret.Text(r.Text), secret.Text(r.Reasoning)
	for i, c := range r.Calls {
		r.Calls[i].Name, r.Calls[i].Arguments = secret.Text(c.Name), secret.Text(c.Arguments)
	}
	return r
}

// during runs f beside the agent's goroutine, which goes on listening for
// commands. f's context ends with ctx, at a /stop and when a stop is asked for.
// It returns when f has returned.
func (a *Agent) during(ctx context.Context, f func(ctx context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var crash error
	go func() { // ends with f, which ends soon after its context
		defer close(done)
		defer recovered(&crash)
		f(ctx)
	}()
	for {
		stop, err := a.pollCommands(true)
		if stop || err != nil || requested(a.id, stopFile) {
			cancel()
		}
		if err != nil {
			<-done
			return err
		}
		a.showSilence()
		var post <-chan time.Time
		if ctx.Err() == nil {
			post = alarm(a.nextPost())
		}
		select {
		case <-done:
			return crash
		case <-a.changed:
		case <-post:
		case <-alarm(a.call.silentAt(a.cfg.quiet)):
		}
	}
}

// recovered, when deferred, makes a panic an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
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

// silentAt is when to look again whether pieces come; zero while no model is asked.
func (c *call) silentAt(after time.Duration) time.Time {
	last := c.lastPiece.Load()
	switch {
	case last == nil:
		return time.Time{}
	case !c.silentSince.IsZero(): // to tell that they come again
		return time.Now().Add(time.Second)
	}
	return last.Add(after)
}

// showSilence tells people since when nothing has come, once it is long.
func (a *Agent) showSilence() {
	var since time.Time
	if last := a.call.lastPiece.Load(); last != nil && time.Since(*last) >= a.cfg.quiet {
		since = last.UTC()
	}
	if !since.Equal(a.call.silentSince) {
		a.call.silentSince = since
		a.show(a.screen.shown.State, a.screen.shown.Tool)
	}
}

// bill is what calls of a model have cost that no reply of the log tells of.
type bill struct {
	calls     int
	tokens    event.Tokens
	estimated bool // in part, since the provider did not tell
}

// add counts what a provider told.
func (b *bill) add(model string, u llm.Usage) {
	t := tokens(model, u)
	b.tokens.In += t.In
	b.tokens.Cached += t.Cached
	b.tokens.Out += t.Out
	b.tokens.USD += t.USD
}

// waste counts what the attempts at r have cost that brought no reply.
func (b *bill) waste(r llm.Request, w llm.Waste, e llm.Estimator) {
	b.add(r.Model, w.Usage)
	if w.Untold > 0 {
		b.add(r.Model, llm.Usage{Input: w.Untold * e.Tokens(r.Weight()), Output: e.Tokens(w.Streamed)})
		b.estimated = true
	}
}

// spent is the bill for the log.
func (b bill) spent(on string) record {
	return record{event: event.Spent{On: on, Calls: b.calls, Tokens: b.tokens, Estimated: b.estimated}}
}

func tokens(model string, u llm.Usage) event.Tokens {
	usd, _ := llm.Cost(model, u, time.Now())
	return event.Tokens{In: int64(u.Input), Cached: int64(u.Cached), Out: int64(u.Output), USD: usd}
}

// An answer with its blobs and lines needs this much of the disk, in bytes. While
// there is less, the disk is looked at from time to time.
const (
	answerBytes  = 1 << 20
	diskInterval = 5 * time.Second
)

// writable returns why an answer of the model could not be written down now.
func (a *Agent) writable() error { return durable.Space(a.id.Dir, answerBytes) }

// canRecord reports whether the model may be asked: an answer that could not be
// written down would be paid for, thrown away and asked for again.
func (a *Agent) canRecord() bool {
	was, err := a.outage.noSpace, a.writable()
	a.outage.noSpace = err
	switch {
	case err == nil && was != nil:
		a.cfg.Log.Info("answers of the model can be written down again")
	case err != nil:
		a.outage.retryAt = time.Now().Add(diskInterval)
		if was == nil {
			a.cfg.Log.Error(a.outage.waitsFor())
		}
	}
	return err == nil
}

// failed decides what a model call without a reply means.
func (a *Agent) failed(err error) error {
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
		return a.pause(e)
	case llm.Permanent:
		return a.pause(e)
	}
	// The network is away, or the provider. Ask again, more and more rarely, and
	// say so once.
	if a.outage.since.IsZero() {
		a.outage.since = time.Now()
	}
	wait := min(max(2*time.Since(a.outage.since), 5*time.Second), 5*time.Minute)
	a.outage.retryAt = time.Now().Add(wait)
	a.cfg.Log.Warn("the model cannot be reached", "error", e, "again_in", wait.Round(time.Second))
	trouble := event.Error{ID: a.noticeID(), What: "model", Failure: e.Kind.String(), Text: e.Error()}
	if a.state.Told == "" {
		trouble.Notice = a.notice("I cannot reach the model: "+sentence(e)+" I keep trying.", a.audience()...)
	}
	return a.commit(record{event: trouble})
}

// pause stops asking until a person acts, and says so where the person is.
func (a *Agent) pause(e *llm.Error) error {
	a.cfg.Log.Error("the model refuses", "error", e)
	rooms := a.audience()
	if len(rooms) == 0 {
		rooms = a.joined()
	}
	say := a.notice("The model refuses: "+sentence(e)+" I wait until you write again, perhaps with /model NAME.", rooms...)
	return a.commit(record{event: event.Paused{ID: a.noticeID(), Why: e.Error(), Notice: say}})
}

// sentence ends an error with one full stop, whatever it ended with.
func sentence(err error) string { return strings.TrimRight(err.Error(), ". ") + "." }
