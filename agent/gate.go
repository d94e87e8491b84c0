package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"lethe/agent/hook"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/agent/work"
	"lethe/blobs"
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
		said.Passed = append(verdict.Passed, said.Passed...)
		verdict = said
	}
	return verdict, nil
}

// check runs the check of the gate on a final answer, if there is one.
func (c *caller) check(ctx context.Context, text string) (verdict hook.Verdict, stopped bool, err error) {
	if c.cfg.Gate.Check == "" {
		return verdict, false, nil
	}
	return c.runCheck(ctx, c.cfg.Gate.Check, text, c.cfg.checkTime)
}

// checkSteps runs the check of each step that stands as done in a plan, and has not passed as it stands. A step that
// does not pass is open again. All checks have checkTime together. The plans are the parent's where a child works.
func (c *caller) checkSteps(ctx context.Context, _ string) (verdict hook.Verdict, stopped bool, err error) {
	if c.State.Works() {
		return verdict, false, nil
	}
	end := time.Now().Add(c.cfg.checkTime)
	plans, err := work.Read(c.Tools.Workspace)
	if err != nil {
		c.Log.Warn("a plan is not checked", "error", err)
	}
	failed := false
	for _, plan := range plans {
		var open []int
		for n, step := range plan.Steps {
			isOver := !time.Now().Before(end) // the rest waits for the next answer
			if isOver || !step.Claimed() || slices.Contains(c.State.Passed, step.Digest) {
				continue
			}
			said, stopped, err := c.runCheck(ctx, step.Check, "", time.Until(end))
			if stopped || err != nil {
				return verdict, stopped, err
			}
			if said.Why == "" {
				verdict.Passed = append(verdict.Passed, step.Digest)
				continue
			}
			verdict.Why += fmt.Sprintf("%s/%s has step %q as done, but %s\n", work.Dir, plan.Name, step.What, said.Why)
			if tookTooLong := !time.Now().Before(end); tookTooLong || !said.Broken {
				open = append(open, n)
			}
		}
		if len(open) == 0 {
			continue
		}
		failed = true
		said := "What did not pass is open again in the plan."
		if err := plan.Reopen(c.Tools.Workspace, open...); err != nil {
			c.Log.Warn("a step whose check failed stays as it is", "plan", plan.Name, "error", err)
			said = fmt.Sprintf("It still stands so in %s: %v.", plan.Name, err)
		}
		verdict.Why += said + "\n"
	}
	verdict.Broken = verdict.Why != "" && !failed
	return verdict, false, nil
}

// runCheck runs a check as BASH runs a command, with text as its standard input.
func (c *caller) runCheck(
	ctx context.Context, check, text string, most time.Duration,
) (verdict hook.Verdict, stopped bool, err error) {
	c.Show(status.Acting, "check")
	var why string
	var ran bool
	err = c.During(ctx, func(ctx context.Context) {
		why, ran = c.Tools.Check(ctx, check, text, most)
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
