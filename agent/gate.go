package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"lethe/agent/hook"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/agent/work"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/mind"
	"lethe/mind/message"
)

const checkTime = 10 * time.Minute

// examine holds a final answer against the gate, and listens for commands meanwhile: against its schema, its check and
// hooks, until one of these refuses it. An answer that a /stop or the end of the daemon leaves undecided is lost: got
// tells its cost.
func (c *caller) examine(ctx context.Context, got *thought) (verdict hook.Verdict, err error) {
	final := len(got.reply.Calls) == 0 && got.reply.Finish != "length"
	if !final {
		return verdict, nil
	}
	text := blobs.Unescape(spoken(got.reply))
	verdict.Why = cmp.Or(hook.Unanswered(c.State, text), c.cfg.Gate.Fits(text))
	for _, ask := range []func(context.Context, string) (hook.Verdict, bool, error){c.check, c.checkSteps, c.hooksOnReply} {
		if verdict.Why != "" {
			return verdict, nil
		}
		said, stopped, err := ask(ctx, text)
		if err != nil {
			return said, err
		}
		if stopped {
			if err := got.drop(); err != nil {
				return said, err
			}
			return said, &llm.Error{Kind: llm.Canceled}
		}
		if said.Found.Empty() {
			said.Found = verdict.Found
		}
		verdict = said
	}
	return verdict, nil
}

// check runs the check of the gate on a final answer, if there is one.
func (c *caller) check(ctx context.Context, text string) (verdict hook.Verdict, stopped bool, err error) {
	if c.cfg.Gate.Check == "" {
		return verdict, false, nil
	}
	return c.runCheck(ctx, c.cfg.Gate.Check, text, nil, c.cfg.checkTime)
}

// checkSteps holds the plans against their checks, which have checkTime together. The plans are the parent's where a
// child works.
func (c *caller) checkSteps(ctx context.Context, _ string) (verdict hook.Verdict, stopped bool, err error) {
	if c.State.Works() {
		return verdict, false, nil
	}
	examiner := work.Examiner{
		Home: c.Home.Dir, Workspace: c.Tools.Workspace, State: c.State, Log: c.Log, MayAsk: c.mayAsk, Stopped: &stopped,
	}
	examiner.Run = func(command string, files []string, most time.Duration) (why string, ran bool, err error) {
		if err := c.Tools.MayRun("check", command); err != nil {
			return err.Error(), false, nil
		}
		var said hook.Verdict
		said, stopped, err = c.runCheck(ctx, command, "", files, most)
		return said.Why, !said.Broken, err
	}
	examiner.Judge = func(question string) (said string, err error) {
		said, stopped, err = c.judge(ctx, question)
		return said, err
	}
	verdict.Why, verdict.Broken, err = examiner.Examine(c.cfg.checkTime)
	for n := range examiner.Asks {
		ask := &examiner.Asks[n]
		ask.Call, ask.Room = mind.CallID(c.State.Next, n+1), c.whereToAsk()
	}
	verdict.Found = examiner.Found
	return verdict, stopped, err
}

// mayAsk reports whether there is a person to ask: one of this name, or with "" anybody who may answer.
func (c *caller) mayAsk(person string) bool {
	room := c.whereToAsk()
	if person == "" {
		return room != "" && len(c.cfg.People) > 0
	}
	return room != "" && c.mayBeAsked(person, room)
}

// judge asks the model in one request that has nothing but the question.
func (c *caller) judge(ctx context.Context, question string) (said string, stopped bool, err error) {
	c.Show(status.Acting, "check")
	model := c.thinker.summariser(func() {})
	var failed error
	err = c.During(ctx, func(ctx context.Context) {
		alone := []mind.Message{{Role: "system", Content: message.Text(work.Judging)}, {Role: "user", Content: message.Text(question)}}
		said, failed = model.Ask(ctx, compactor.Ask{Messages: alone})
		stopped = ctx.Err() != nil
	})
	if failed != nil {
		c.Log.Warn("a judge fails", "error", failed)
	}
	if err != nil {
		return "", stopped, err
	}
	return said, stopped, c.thinker.pay(model, "judge")
}

// runCheck runs a check as BASH runs a command, with text as its standard input.
func (c *caller) runCheck(
	ctx context.Context, check, text string, files []string, most time.Duration,
) (verdict hook.Verdict, stopped bool, err error) {
	c.Show(status.Acting, "check")
	var why string
	var ran bool
	err = c.During(ctx, func(ctx context.Context) {
		why, ran = c.Tools.Check(ctx, check, text, files, most)
		stopped = ctx.Err() != nil
	})
	if why != "" {
		verdict = hook.Verdict{Why: fmt.Sprintf("the check `%s` %s", check, why), Broken: !ran}
	}
	return verdict, stopped, err
}

// hooksOnReply asks hooks about a final answer.
func (c *caller) hooksOnReply(ctx context.Context, text string) (verdict hook.Verdict, stopped bool, err error) {
	asked := hook.Input{Event: hook.Reply, Reply: text, Again: len(c.State.Refusals) > 0}
	answer, stopped, err := c.consult(ctx, asked)
	if answer.Deny {
		verdict.Why = answer.Reason
	}
	return verdict, stopped, err
}
