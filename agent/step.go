package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/part"
	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
)

// step is one call to the model and everything that follows from it.
func (a *Agent) step(ctx context.Context) error {
	steps := a.view.State.Steps
	last := steps == a.cfg.MaxSteps && len(a.view.State.Waiting) > 0 // of the turn
	if steps >= a.cfg.MaxSteps && !last {
		return a.outOfSteps()
	}
	if !a.thinker.canRecord() {
		return nil
	}
	if lookAgain, err := a.prepare(ctx, last); lookAgain || err != nil {
		return err
	}
	got, verdict, err := a.ask(ctx, last)
	if got.lost.Calls > 0 {
		if err := a.thinker.paid(part.Record{Event: got.lost}); err != nil {
			return err
		}
	}
	if err != nil {
		if last && llm.KindOf(err) != llm.Canceled {
			return a.outOfSteps()
		}
		return a.failed(ctx, got, err)
	}
	a.thinker.answered()
	if got.reply.Finish == "length" {
		return a.cutOff(got.reply)
	}
	rooms := a.view.People() // who waits for the reply
	cut := a.thinker.judge(&got)
	if err := a.recordReply(ctx, got, verdict); err != nil {
		return err
	}
	if err := a.thinker.Release(); err != nil {
		return err
	}
	if err := a.thinker.warn(rooms); err != nil {
		return err
	}
	a.thinker.observe(got)
	if cut {
		if err := a.thinker.hold(rooms); err != nil {
			return err
		}
	}
	return a.caller.act(ctx)
}

// prepare brings the context up to date before the model is asked. lookAgain says that the round is used up: the
// loop looks around before it asks.
func (a *Agent) prepare(ctx context.Context, last bool) (lookAgain bool, err error) {
	if turned, err := a.thinker.returnIfDue(ctx); turned || err != nil {
		return true, err
	}
	if wrote, err := a.caller.writeDown(ctx); wrote || err != nil {
		return true, err
	}
	if err := a.view.Commit(a.thinker.reader.Changes(a.view.State)...); err != nil {
		return true, err
	}
	if ran, err := a.caller.beginTurn(ctx); ran || err != nil {
		return true, err
	}
	if err := a.thinker.hintIfDue(ctx); err != nil {
		return true, err
	}
	live := a.view.State.Live
	told := len(live) > 0 && live[len(live)-1].Ref.Gist == lastGist
	if last && !told {
		return false, a.view.Commit(part.Noted("max_steps", lastGist, lastAnswer))
	}
	return false, nil
}

// ask asks the model, and checks its answer if that is a final one.
func (a *Agent) ask(ctx context.Context, last bool) (got thought, verdict hook.Verdict, err error) {
	got, err = a.thinker.think(ctx)
	e, _ := errors.AsType[*llm.Error](err)
	blank := e != nil && e.Blank // asked twice, it has nothing to say
	if blank && !last {
		got.reply, err = llm.Reply{Finish: "stop", Model: a.view.State.Stable.Params.Model}, nil
	}
	if err != nil {
		return got, verdict, err
	}
	text := spoken(got.reply)
	silent := text == "" || text == mind.Nothing
	noAnswer := silent || len(got.reply.Calls) > 0
	if last && noAnswer {
		if err := got.drop(); err != nil {
			return got, verdict, err
		}
		return got, verdict, errors.New("no last answer")
	}
	verdict, err = a.caller.examine(ctx, &got)
	return got, verdict, err
}

// The note before the answer that ends a turn at its bound.
const (
	lastGist   = "the last answer of a turn"
	lastAnswer = "This turn has reached its bound of model calls: your next answer is its last. Call no tools. " +
		"Tell the people there what is done, what is left, and that you go on when they say something."
)

// outOfSteps ends a turn that has made too many calls of the model.
func (a *Agent) outOfSteps() error {
	const note = "You made %d model calls without a word from a user, so the turn was ended. " +
		"Say where you stand when you are spoken to."
	const say = "I stopped after %d steps without a word from you. Say something to let me go on."
	return a.giveUp("max_steps", fmt.Sprintf(note, a.view.State.Steps), fmt.Sprintf(say, a.view.State.Steps))
}

// recordReply writes down what the model said, with the intent of its first
// call, or with where its final text goes.
func (a *Agent) recordReply(ctx context.Context, got thought, verdict hook.Verdict) error {
	turn, answer := a.view.State.Turn+1, answerOf(got.reply)
	reply := event.Reply{
		Turn: turn, Model: got.reply.Model, Tokens: got.cost, Weight: int64(got.weight), Finish: got.reply.Finish,
		Passed: verdict.Passed, Withdrawn: verdict.Withdrawn,
	}
	var behind []part.Record
	if len(answer.Calls) > 0 {
		next, err := a.caller.next(ctx, callsOf(a.view.State.Next, answer), len(answer.Calls) == 1)
		if err != nil {
			return err
		}
		behind = next
	} else if verdict.Refuses(a.view.State, answer.Text) {
		reply.Refused = true
		note := mind.RefusedText + ": " + verdict.Why
		behind = []part.Record{part.Noted("refused", "answer refused", note)}
	} else {
		a.journal.Snapshot() // what the answer speaks of is stored before it is said
		reply.Checks = verdict.Checks
		reply.Caveat = strings.TrimSpace(verdict.Caveat() + "\n\n" + a.whoReads(answer.Text))
		reply.Posting = a.answering(strings.TrimSpace(blobs.Unescape(answer.Text) + reply.Caveat))
	}
	for _, ask := range verdict.Asks {
		behind = append(behind, a.caller.ask(ask))
	}
	said := journal.Told(reply, answer.Gist(turn), answer.Encode())
	return a.view.Commit(append([]part.Record{said}, behind...)...)
}

// whoReads says who can read the first answer of a private life.
func (a *Agent) whoReads(text string) string {
	state, silent := a.view.State, text == "" || text == mind.Nothing
	isPrivate := !state.Readers.Open() && len(state.Readers) == 1 && !state.Works()
	if silent || !isPrivate || state.Turn > 0 {
		return ""
	}
	return fmt.Sprintf("(Only %s and the owner of this machine can read this.)", state.Readers)
}

// answerOf is a reply as a mind has it.
func answerOf(reply llm.Reply) mind.Answer {
	answer := mind.Answer{Reasoning: reply.Reasoning, Text: spoken(reply), Opaque: reply.Opaque}
	for _, c := range reply.Calls {
		call := mind.RepairCall(c.Name, c.Arguments)
		call.Opaque = c.Opaque
		answer.Calls = append(answer.Calls, call)
	}
	return answer
}

// answering fixes where a final text is posted. Silence is posted for a child alone, whose parent waits.
func (a *Agent) answering(text string) event.Posting {
	rooms := a.view.Audience()
	silent := text == "" || text == mind.Nothing
	if silent && !a.view.State.Concludes() {
		return event.Posting{}
	}
	if len(rooms) == 0 {
		return event.Posting{}
	}
	return a.view.Posting(a.view.Mentioned(cmp.Or(text, mind.Nothing), rooms...)...)
}

// spoken is the text of a reply, or "" if that only stands for silence.
func spoken(reply llm.Reply) string {
	if llm.Filler(reply.Text) || strings.TrimSpace(reply.Text) == mind.NoAnswer {
		return ""
	}
	return reply.Text
}

// cutOff deals with an answer that was too long twice: it is no reply, but it is
// kept, and the model is told.
func (a *Agent) cutOff(reply llm.Reply) error {
	const note = "Your last answer was longer than %d tokens, was cut off, and nobody has seen it. " +
		"Be briefer: do less in one answer."
	text := fmt.Sprintf(note, a.view.State.Stable.Params.MaxTokens)
	if reply.Text != "" {
		text += " It began: " + blobs.Gist(reply.Text)
	}
	partial := mind.Answer{Reasoning: reply.Reasoning, Text: reply.Text}
	kept := part.Body{Gist: "an answer that was cut off", Data: partial.Encode()}
	if a.view.State.Cut > 0 {
		const say = "My answers were cut off for their length again and again; I stopped. Ask for something smaller."
		return a.giveUp("cut", text, say, kept)
	}
	return a.view.Commit(part.Noted("cut", "answer cut off", text, kept))
}

// giveUp ends a turn that goes nowhere, with a note for the model and a line for
// whoever waits. What is kept goes into blobs beside the note's.
func (a *Agent) giveUp(why, note, say string, kept ...part.Body) error {
	a.view.Log.Warn("turn ended", "why", why)
	paused := event.Paused{Why: why, Ended: true}
	if len(a.view.State.Waiting) > 0 { // agents are not told: two that end each other's turns would never stop
		paused.Notice = a.view.Notice(say, a.view.Audience()...)
	}
	return a.view.Commit(part.Noted(why, "turn ended: "+why, note, kept...), part.Record{Event: paused})
}

// failed decides what a model call without a reply means.
func (a *Agent) failed(ctx context.Context, got thought, err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.Overflow {
		if again, err := a.forgetter.overflowed(e); again || err != nil {
			return err
		}
	}
	return a.thinker.failed(ctx, got, err)
}
