package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/bridge/report"
	"lethe/internal/screen"
)

func (p *program) contextCommand(c call, id home.Identity) error {
	now, err := p.look.Context(id)
	if c.arg(1) != "" && !c.is("compact") {
		return usagef("%q is for --compact, which is not given", c.arg(1))
	}
	if err == nil && c.is("compact") {
		return p.compact(c, id, now.Parts, c.arg(1))
	}
	if err == nil && c.is("cost") {
		has := now.State.Stable.Params.Model
		model := llm.Settle(cmp.Or(c.text("model"), has), has, p.preset())
		return p.words("cost", struct {
			prompt.Parts
			prompt.Cost
		}{now.Parts, prompt.CostOf(now.State, now.Parts, p.known(), model, time.Now())}, nil, id.Name)
	}
	return p.show(now, err, func() error {
		fmt.Fprint(p.err, p.text("parts", now.Parts, id.Name))
		_, err := fmt.Fprint(p.out, screen.Sanitize(string(now.State.View())))
		return err
	})
}

// compact has an identity forget now: the running one by a wish, another one by opening it for that long.
func (p *program) compact(ctx context.Context, id home.Identity, before prompt.Parts, keep string) (err error) {
	if _, running := home.Running(id); running {
		p.note("asked %s to compact; waiting", id.Name)
		err = report.Compact(ctx, id, keep)
	} else {
		err = p.compactStopped(ctx, id, keep)
	}
	if err != nil {
		return err
	}
	after, err := p.look.Context(id)
	if err != nil {
		return err
	}
	both := map[string]prompt.Parts{"before": before, "after": after.Parts}
	return p.words("compacted", both, nil, id.Name)
}

// compactStopped opens the identity as run would, without letting it hear.
func (p *program) compactStopped(ctx context.Context, id home.Identity, keep string) error {
	o := p.hostOptions(p.logTo(p.err))
	o.Rehearse = !p.livedOnline(id)
	h, err := host.New(p.home, p.settings.Settings, o)
	if err != nil {
		return err
	}
	return h.Serving(ctx, func(ctx context.Context) error {
		a, err := h.OpenAgent(id)
		if err != nil {
			return err
		}
		defer a.Close()
		return a.Compact(ctx, keep)
	})
}
