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

// examine holds a final answer against the gate, and listens for commands meanwhile. An
// answer that a /stop or the end of the daemon leaves undecided is lost: t tells its cost.
func (c *caller) examine(ctx context.Context, t *thought) (v hook.Verdict, err error) {
	g, reply := c.cfg.Gate, t.reply
	final := len(reply.Calls) == 0 && reply.Finish != "length"
	if !final {
		return hook.Verdict{}, nil
	}
	open := g.Check == "" && len(g.Schema) == 0
	if open && !c.hooks.Has(hook.Reply) {
		return hook.Verdict{}, nil
	}
	text := blobs.Unescape(spoken(reply))
	v.Why = g.Fits(text)
	if v.Why != "" {
		return v, nil
	}
	stopped := false
	if g.Check != "" {
		c.Show(status.Acting, "check")
		ran := false
		err = c.During(ctx, func(ctx context.Context) {
			v.Why, ran = c.Tools.Check(ctx, g.Check, text, checkTime)
			stopped = ctx.Err() != nil
		})
		if v.Why != "" {
			v = hook.Verdict{Why: fmt.Sprintf("the check `%s` %s", g.Check, v.Why), Broken: !ran}
		}
	}
	if err != nil {
		return v, err
	}
	if v.Why == "" && !stopped {
		var said hook.Answer
		said, stopped, err = c.consult(ctx, hook.Input{Event: hook.Reply, Reply: text, Again: len(c.State.Refusals) > 0})
		if said.Deny {
			v.Why = said.Reason
		}
	}
	if err != nil || !stopped {
		return v, err
	}
	if err := t.drop(); err != nil {
		return v, err
	}
	return v, &llm.Error{Kind: llm.Canceled}
}
