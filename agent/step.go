package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/secret"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
)

// step is one call to the model and everything that follows from it.
func (a *Agent) step(ctx context.Context) error {
	if a.state.Steps >= a.cfg.MaxSteps {
		return a.giveUp("max_steps",
			fmt.Sprintf("You made %d model calls without a word from a user, so the turn was ended. Say where you stand when you are spoken to.", a.state.Steps),
			fmt.Sprintf("I stopped after %d steps without a word from you. Say something to let me go on.", a.state.Steps))
	}
	if !a.hasSpace() {
		return nil
	}
	if err := a.hintIfDue(ctx); err != nil {
		return err
	}
	reply, weight, lost, err := a.think(ctx)
	if lost.calls > 0 {
		if err := a.commit(lost.spent("turn")); err != nil {
			return err
		}
	}
	if silent(err) { // asked twice, it said nothing twice: it has nothing to say
		reply, err = llm.Reply{Finish: "stop", Model: a.state.Stable.Params.Model}, nil
	}
	if err != nil {
		return a.failed(ctx, err)
	}
	a.outage, a.call.streamed = outage{}, streamed{}
	if reply.Finish == "length" {
		return a.cutOff(reply)
	}
	if err := a.recordReply(reply, weight); err != nil {
		return err
	}
	a.estimate = a.estimate.Observe(weight, reply.Usage.Input)
	return a.act(ctx)
}

// silent reports whether a model without reasoning answered with nothing at all,
// as it is told to when nothing needs to be said.
func silent(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Kind == llm.Garbage && e.Code == "blank"
}

// think calls the model, and listens for commands meanwhile. lost is what has been
// paid for nothing: attempts that failed, answers that were cut off.
func (a *Agent) think(ctx context.Context) (reply llm.Reply, weight int, lost bill, err error) {
	r := a.request()
	weight = r.Weight()
	a.screen.set(a, status.Thinking, "")
	defer a.screen.clearLive(a)
	spare := a.limit() - a.contextTokens() + r.MaxTokens // tokens that the answer may have within the limit
	estimate := a.estimate
	complete := func(ctx context.Context, r llm.Request) (llm.Reply, error) {
		show := a.screen.delta(ctx, a.id.Dir, &a.call.streamed)
		reply, err := a.cfg.Model.Complete(ctx, r, func(d llm.Delta) {
			if !d.Reset {
				a.call.quiet.piece()
			}
			show(d)
		})
		lost.calls += reply.Waste.Calls
		lost.waste(r, reply.Waste, estimate)
		if err == nil && reply.Finish == "length" {
			lost.calls++
			lost.add(r.Model, reply.Usage)
		}
		return redacted(reply), err
	}
	ask := func(ctx context.Context) {
		reply, err = complete(ctx, r)
		if err == nil && reply.Finish == "length" && spare > r.MaxTokens {
			again := r
			again.MaxTokens = min(2*r.MaxTokens, spare)
			a.cfg.Log.Warn("the answer was cut off; trying once more with room", "max_tokens", again.MaxTokens)
			if more, merr := complete(ctx, again); merr == nil {
				reply = more
			}
		}
	}
	a.call.quiet.begin()
	defer a.call.quiet.end()
	if herr := a.during(ctx, ask); herr != nil {
		return reply, weight, lost, herr
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
		defer func() {
			if p := recover(); p != nil {
				crash = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		f(ctx)
	}()
	// Something may have been said since the last look.
	var err error
	for again := true; again; {
		stop, herr := a.pollCommands(true)
		if stop || herr != nil || a.stopAsked() {
			cancel()
			err = herr
		}
		again = false
		var open <-chan time.Time
		if at := a.nextPost(); !at.IsZero() && ctx.Err() == nil {
			open = time.After(time.Until(at))
		}
		select {
		case <-done:
		case <-open:
			again = true
		case <-a.changed:
			again = true
		case <-a.call.quiet.changed:
			a.screen.set(a, a.screen.state, a.screen.tool)
			again = true
		}
		if err != nil {
			<-done
			return err
		}
	}
	return crash
}

// recordReply writes down what the model said, with the intent of its first
// call, or with where its final text goes.
func (a *Agent) recordReply(reply llm.Reply, weight int) error {
	answer := mind.Answer{Reasoning: reply.Reasoning, Text: reply.Text}
	for _, c := range reply.Calls {
		answer.Calls = append(answer.Calls, mind.RepairCall(c.Name, c.Arguments))
	}
	usd, _ := llm.Cost(a.state.Stable.Params.Model, reply.Usage, time.Now())
	turn := a.state.Turn + 1
	e := event.Reply{
		N: a.state.Next, Turn: turn, Model: reply.Model, Tokens: tokens(reply.Usage, usd), Weight: int64(weight), Finish: reply.Finish,
	}
	bodies := []body{{answer.Gist(turn), answer.Encode()}}
	if len(answer.Calls) == 0 {
		if rooms := a.audience(); len(rooms) > 0 && strings.TrimSpace(blobs.Unescape(reply.Text)) != "" {
			e.Posting = a.posting(rooms...)
		}
		return a.commit(record{event: e, bodies: bodies})
	}
	first := answer.Calls[0]
	intent := a.intent(mind.Pending{Entry: a.state.Next, K: 1, Call: &mind.Call{Tool: first.Tool, Args: first.Args, Original: first.Original}})
	return a.commit(record{event: e, bodies: bodies}, intent)
}

// audience is where a final text goes: the rooms that wait for it and are still
// heard.
func (a *Agent) audience() []string {
	joined := a.joined()
	return slices.DeleteFunc(a.state.Audience(), func(room string) bool { return !slices.Contains(joined, room) })
}

// cutOff deals with an answer that was too long twice: it is no reply, but it is
// kept, and the model is told.
func (a *Agent) cutOff(reply llm.Reply) error {
	text := fmt.Sprintf("Your last answer was longer than %d tokens, was cut off, and nobody has seen it. Be briefer: do less in one answer.", a.state.Stable.Params.MaxTokens)
	if reply.Text != "" {
		text += " It began: " + blobs.Gist(reply.Text)
	}
	partial := mind.Answer{Reasoning: reply.Reasoning, Text: reply.Text}
	kept := body{"an answer that was cut off", partial.Encode()}
	if a.state.Cut > 0 {
		return a.giveUp("cut", text, "My answers were cut off for their length again and again; I stopped. Ask for something smaller.", kept)
	}
	return a.commit(a.note(event.Note{Why: "cut"}, "answer cut off", text, kept))
}

// giveUp ends a turn that goes nowhere, with a note for the model and a line for
// whoever waits. What is kept goes into blobs beside the note's.
func (a *Agent) giveUp(why, note, say string, kept ...body) error {
	a.cfg.Log.Warn("turn ended", "why", why)
	paused := event.Paused{ID: a.noticeID(), Why: why, Ended: true}
	if len(a.state.Waiting) > 0 { // agents are not told: two that end each other's turns would never stop
		paused.Notice = a.notice(say, a.audience()...)
	}
	return a.commit(a.note(event.Note{Why: why}, "turn ended: "+why, note, kept...), record{event: paused})
}

// failed decides what a model call without a reply means.
func (a *Agent) failed(ctx context.Context, err error) error {
	var e *llm.Error
	if !errors.As(err, &e) {
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
