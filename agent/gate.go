package agent

import (
	"context"
	"fmt"
	"time"

	"lethe/agent/hook"
	"lethe/agent/llm"
	"lethe/agent/status"
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
	verdict.Why = c.cfg.Gate.Fits(text)
	for _, ask := range []func(context.Context, string) (hook.Verdict, bool, error){c.check, c.hooksOnReply} {
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
		verdict = said
	}
	return verdict, nil
}

// check runs the check of the gate on a final answer, if there is one.
func (c *caller) check(ctx context.Context, text string) (verdict hook.Verdict, stopped bool, err error) {
	check := c.cfg.Gate.Check
	if check == "" {
		return verdict, false, nil
	}
	c.Show(status.Acting, "check")
	var why string
	var ran bool
	err = c.During(ctx, func(ctx context.Context) {
		why, ran = c.Tools.Check(ctx, check, text, checkTime)
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
