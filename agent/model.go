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
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/agent/status"
	"lethe/compactor/recall"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
)

// thinker asks the model: it renders requests, pays for them, turns to other models where one does not answer, and
// looks up what the identity may be reminded of.
type thinker struct {
	*view

	reader    prompt.Reader // of what others wrote into the system message
	estimate  llm.Estimator
	rendering prompt.Rendering // of the State

	outage  outage
	triedIn int // the epoch in which a model that is away was last tried
	triedAt time.Time

	// Of the answer that is awaited. The goroutine of the call writes streamed, which others read when it has ended.
	streamed  streamed                  // kept when a /stop ends the call
	lastPiece atomic.Pointer[time.Time] // when its newest piece came, or the call began; nil while no model is asked

	wallet  *budget.Wallet // nil where no limit is set, or the model is for nothing
	counted budget.Counted

	indexer       *recall.Keeper // nil while the identity does not run
	hintedThrough int            // the newest entry that a hint was looked up for
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
func (t *thinker) think(ctx context.Context) (answer thought, err error) {
	r, rates := t.request(), t.rates()
	answer.asked, answer.weight = r, r.Weight()
	pay := t.wallet.Pay(rates)
	answer.call = pay.Attempts(&r)
	t.piece()
	t.show(status.Thinking, "")
	defer func() {
		answer.heard = *t.lastPiece.Swap(nil)
		t.screen.Begin(status.Live{})
	}()
	model, on := t.cfg.Model, t.stream()
	failed := t.during(ctx, func(ctx context.Context) {
		answer.reply, err = model.Complete(ctx, r, func(d llm.Delta) { on(ctx, d) })
	})
	if failed != nil { // what it has cost is not known; the hold stays
		return answer, failed
	}
	waste := rates.Billed(answer.reply.Waste)
	answer.lost = event.Spent{On: "turn", Calls: waste.Calls, Estimated: waste.Uncounted > 0, Tokens: rates.Wasted(r, waste)}
	kept := err == nil && answer.reply.Finish != "length"
	if err == nil {
		answer.cost = rates.Answered(r, answer.reply)
		if !kept {
			answer.lost.Calls++
			answer.lost.Add(answer.cost)
		}
	}
	if why := answer.call.End(answer.lost.Tokens, kept); why != nil {
		err = why
	}
	answer.lost.Tokens, answer.cost = pay.Note(answer.lost.Tokens, 0), pay.Note(answer.cost, answer.call.Open)
	answer.reply = answer.reply.Redacted() // before anything is cut out of it
	return answer, err
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
		case <-a.listener.changed:
		case <-post:
		case <-time.After(a.cfg.quiet / 20): // does the model still say something?
		}
		stop, err := a.listener.pollCommands(true)
		a.caller.readWishes()
		if stop || err != nil || a.wished(home.WishStop) {
			cancel()
		}
		if err != nil {
			<-done
			return err
		}
		if !a.thinker.silence().Equal(a.shown.SilentSince) {
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
func (t *thinker) piece() {
	now := time.Now()
	t.lastPiece.Store(&now)
}

// silence is since when nothing has come of an answer that is awaited, once it is long.
func (t *thinker) silence() (since time.Time) {
	if last := t.lastPiece.Load(); last != nil && time.Since(*last) >= t.cfg.quiet {
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
func (t *thinker) writable() error { return durable.Space(t.id.Dir, answerBytes) }

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
		t.cfg.Log.Error(t.outage.waitsFor())
	}
	return false
}

// failed decides what a model call without a reply means.
func (a *Agent) failed(ctx context.Context, t thought, err error) error {
	if unpaid, err := a.thinker.unpaid(err); unpaid || err != nil {
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
		if again, err := a.forgetter.overflowed(e); again || err != nil {
			return err
		}
	}
	since, most := cmp.Or(a.thinker.outage.since, t.heard), 5*time.Minute
	left := a.cfg.patience - time.Since(since)
	if e.Kind == llm.Permanent || e.Kind != llm.Overflow && left <= 0 {
		others := append([]string{cmp.Or(a.state.Away, a.state.Stable.Params.Model)}, a.cfg.Fallback...)
		if turned, err := a.thinker.turnTo(ctx, e, others...); turned || err != nil {
			return err
		}
	} else if len(a.cfg.Fallback) > 0 {
		most = left
	}
	away := a.state.Away
	if e.Kind == llm.Overflow || e.Kind == llm.Permanent && (away == "" || slices.Contains(a.thinker.outage.failed, away)) {
		return a.pause(
			e.Error(),
			"The model refuses: "+sentence(e)+" I wait until you write again, perhaps with /model NAME.",
			time.Time{},
		)
	}
	// The network is away, or the provider. Ask again, more and more rarely, and
	// say so once.
	a.thinker.outage.since = since
	wait := a.thinker.outage.again(5*time.Second, most)
	a.cfg.Log.Warn("the model cannot be reached", "error", e, "again_in", wait.Round(time.Second))
	trouble := event.Error{What: "model", Failure: e.Kind.String(), Text: e.Error()}
	if a.state.Told != trouble.What {
		trouble.Notice = a.notice("I cannot reach the model: "+sentence(e)+" I keep trying.", a.audience()...)
	}
	return a.happen(trouble)
}

// sentence ends an error with one full stop, whatever it ended with.
func sentence(err error) string { return strings.TrimRight(err.Error(), ". ") + "." }

// stream returns what takes the pieces of a reply as they stream, from the goroutine
// of the call. What has come by the end of its context stays in streamed.
func (t *thinker) stream() func(context.Context, llm.Delta) {
	got := &t.streamed
	*got = streamed{}
	t.screen.Begin(status.Live{Entry: mind.EntryID(t.state.Next)})
	return func(ctx context.Context, d llm.Delta) {
		switch {
		case !d.Reset:
			t.piece()
		case ctx.Err() != nil:
			return
		default:
			*got = streamed{}
		}
		got.reasoning.WriteString(d.Reasoning)
		got.text.WriteString(d.Text)
		text := got.text.String()
		if strings.HasPrefix(mind.Nothing, strings.TrimSpace(text)) { // it may be no more than that
			text = ""
		}
		t.screen.Live(func(now *status.Live) bool {
			now.Thinking, now.Text = got.reasoning.String(), text
			return true
		})
	}
}
