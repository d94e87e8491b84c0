package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lethe/agent/budget"
	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// step is one call to the model and everything that follows from it.
func (a *Agent) step(ctx context.Context) error {
	last := a.state.Steps == a.cfg.MaxSteps && len(a.state.Waiting) > 0
	if a.state.Steps >= a.cfg.MaxSteps && !last {
		return a.outOfSteps()
	}
	if !a.thinker.canRecord() {
		return nil
	}
	if turned, err := a.thinker.returnIfDue(ctx); turned || err != nil {
		return err
	}
	if due, err := a.caller.writeDown(ctx); due || err != nil {
		return err
	}
	if err := a.commit(a.thinker.reader.Changes(a.state)...); err != nil {
		return err
	}
	if ran, err := a.caller.beginTurn(ctx); ran || err != nil {
		return err
	}
	if err := a.thinker.hintIfDue(ctx); err != nil {
		return err
	}
	if live := a.state.Live; last && (len(live) == 0 || live[len(live)-1].Ref.Gist != lastGist) {
		if err := a.commit(noted("max_steps", lastGist, lastAnswer)); err != nil {
			return err
		}
	}
	t, err := a.thinker.think(ctx)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Blank && !last { // asked twice, it has nothing to say
		t.reply, err = llm.Reply{Finish: "stop", Model: a.state.Stable.Params.Model}, nil
	}
	var v hook.Verdict
	if err == nil && last && (len(t.reply.Calls) > 0 || slices.Contains([]string{"", mind.Nothing}, spoken(t.reply))) {
		err = cmp.Or(t.drop(), errors.New("no last answer"))
	}
	if err == nil {
		v, err = a.caller.examine(ctx, &t)
	}
	if t.lost.Calls > 0 {
		if err := a.thinker.paid(record{Event: t.lost}); err != nil {
			return err
		}
	}
	if last && err != nil && llm.KindOf(err) != llm.Canceled {
		return a.outOfSteps()
	}
	if err != nil {
		return a.failed(ctx, t, err)
	}
	a.thinker.outage, a.thinker.streamed = outage{}, streamed{}
	if t.reply.Finish == "length" {
		return a.cutOff(t.reply)
	}
	rooms := a.people()
	if err := inOrder(func() error { return a.recordReply(ctx, t, v) }, a.thinker.release, func() error { return a.thinker.warn(rooms) }); err != nil {
		return err
	}
	a.thinker.estimate = a.thinker.estimate.Observe(t.weight, t.reply.Usage.Input)
	if n := t.reply.Usage.Input; n > 0 {
		a.thinker.counted = budget.Count(t.asked, t.weight, n)
	}
	return a.caller.act(ctx)
}

// The note before the answer that ends a turn at its bound.
const (
	lastGist   = "the last answer of a turn"
	lastAnswer = "This turn has reached its bound of model calls: your next answer is its last. Call no tools. Tell the people " +
		"there what is done, what is left, and that you go on when they say something."
)

// outOfSteps ends a turn that has made too many calls of the model.
func (a *Agent) outOfSteps() error {
	return a.giveUp(
		"max_steps",
		fmt.Sprintf(
			"You made %d model calls without a word from a user, so the turn was ended. Say where you stand when you are spoken to.",
			a.state.Steps,
		),
		fmt.Sprintf("I stopped after %d steps without a word from you. Say something to let me go on.", a.state.Steps),
	)
}

// recordReply writes down what the model said, with the intent of its first
// call, or with where its final text goes.
func (a *Agent) recordReply(ctx context.Context, t thought, v hook.Verdict) error {
	reply := t.reply
	answer := mind.Answer{Reasoning: reply.Reasoning, Text: spoken(reply), Opaque: reply.Opaque}
	for _, c := range reply.Calls {
		call := mind.RepairCall(c.Name, c.Arguments)
		call.Opaque = c.Opaque
		answer.Calls = append(answer.Calls, call)
	}
	turn := a.state.Turn + 1
	e := event.Reply{
		Turn: turn, Model: reply.Model, Tokens: t.cost, Weight: int64(t.weight), Finish: reply.Finish,
	}
	said := func() record { return journal.Told(e, answer.Gist(turn), answer.Encode()) }
	if len(answer.Calls) == 0 {
		if e.Refused = v.Refuses(a.state, answer.Text); e.Refused {
			note := mind.RefusedText + ": " + v.Why + "\nSet this right and answer again."
			return a.commit(said(), noted("refused", "answer refused", note))
		}
		e.Caveat = v.Caveat()
		text := strings.TrimSpace(blobs.Unescape(answer.Text) + e.Caveat)
		if rooms := a.audience(); len(rooms) > 0 && (text != "" && text != mind.Nothing || a.state.Concludes()) {
			e.Posting = a.posting(chat.Notify(a.cfg.Notify, cmp.Or(text, mind.Nothing), rooms...)...)
		}
		return a.commit(said())
	}
	var calls []pending
	for i, c := range answer.Calls[:min(len(answer.Calls), maxCalls)] {
		id := mind.CallID(a.state.Next, i+1)
		calls = append(calls, pending{id: id, call: &mind.Call{Tool: c.Tool, Args: c.Args, Original: c.Original}})
	}
	next, err := a.caller.next(ctx, calls, len(calls) == 1)
	if err != nil {
		return err
	}
	return a.commit(append([]record{said()}, next...)...)
}

// spoken is the text of a reply, "" for what stands for silence, and said as little.
func spoken(reply llm.Reply) string {
	if llm.Filler(reply.Text) || strings.TrimSpace(reply.Text) == mind.NoAnswer {
		return ""
	}
	return reply.Text
}

// cutOff deals with an answer that was too long twice: it is no reply, but it is
// kept, and the model is told.
func (a *Agent) cutOff(reply llm.Reply) error {
	text := fmt.Sprintf(
		"Your last answer was longer than %d tokens, was cut off, and nobody has seen it. Be briefer: do less in one answer.",
		a.state.Stable.Params.MaxTokens,
	)
	if reply.Text != "" {
		text += " It began: " + blobs.Gist(reply.Text)
	}
	partial := mind.Answer{Reasoning: reply.Reasoning, Text: reply.Text}
	kept := body{Gist: "an answer that was cut off", Data: partial.Encode()}
	if a.state.Cut > 0 {
		return a.giveUp(
			"cut",
			text,
			"My answers were cut off for their length again and again; I stopped. Ask for something smaller.",
			kept,
		)
	}
	return a.commit(noted("cut", "answer cut off", text, kept))
}

// giveUp ends a turn that goes nowhere, with a note for the model and a line for
// whoever waits. What is kept goes into blobs beside the note's.
func (a *Agent) giveUp(why, note, say string, kept ...body) error {
	a.cfg.Log.Warn("turn ended", "why", why)
	paused := event.Paused{Why: why, Ended: true}
	if len(a.state.Waiting) > 0 { // agents are not told: two that end each other's turns would never stop
		paused.Notice = a.notice(say, a.audience()...)
	}
	return a.commit(noted(why, "turn ended: "+why, note, kept...), record{Event: paused})
}
