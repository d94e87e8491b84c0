package main

import (
	"context"
	"fmt"
	"time"

	"lethe/agent"
)

// compactTime bounds the wait for a running identity to compact.
const compactTime = 10 * time.Minute

// compact has an identity forget now: the running one by asking it, another one
// by opening it for that long.
func (p *program) compact(ctx context.Context, id agent.Identity) error {
	before, err := p.budget(id)
	if err != nil {
		return err
	}
	if _, running := agent.Running(id); running {
		err = p.compactRunning(ctx, id, before.Epoch)
	} else {
		err = p.compactStopped(ctx, id)
	}
	if err != nil {
		return err
	}
	after, err := p.budget(id)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(map[string]agent.Budget{"before": before, "after": after})
	}
	if after.Epoch == before.Epoch {
		fmt.Fprintf(p.out, "%s: nothing is old enough to fade; about %d of %d tokens\n", id.Name, after.Total, after.Limit)
		return nil
	}
	fmt.Fprintf(p.out, "%s: from about %d tokens to %d of %d; live entries: %d, before %d\n", id.Name, before.Total, after.Total, after.Limit, after.Entries, before.Entries)
	return nil
}

func (p *program) budget(id agent.Identity) (agent.Budget, error) {
	store, err := p.store()
	if err != nil {
		return agent.Budget{}, err
	}
	s, err := agent.Fold(id, store)
	if err != nil {
		return agent.Budget{}, err
	}
	limit := p.settings.Context.Limit
	if live, running := alive(id); running && live.ContextLimit > 0 {
		limit = live.ContextLimit
	}
	return agent.BudgetOf(s, limit), nil
}

// compactRunning asks, and waits for the epoch that says that it is done.
func (p *program) compactRunning(ctx context.Context, id agent.Identity, epoch int) error {
	if err := agent.AskToCompact(id); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "asked %s to compact; waiting\n", id.Name)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(compactTime); time.Now().Before(deadline); {
		if done, err := p.compacted(id, epoch); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return fmt.Errorf("compact %s: no answer within %s; it goes on in the background", id.Name, compactTime)
}

// compacted reports whether a new epoch has begun, or nothing was to be done.
func (p *program) compacted(id agent.Identity, epoch int) (bool, error) {
	b, err := p.budget(id)
	if err != nil || b.Epoch > epoch {
		return true, err
	}
	s, running := alive(id)
	if !running {
		return true, fmt.Errorf("compact %s: it stopped meanwhile", id.Name)
	}
	return !s.Compacting && !agent.CompactPending(id), nil
}

// compactStopped opens the identity as run would, without letting it hear.
func (p *program) compactStopped(ctx context.Context, id agent.Identity) error {
	w, err := p.newWorld(p.logTo(p.err), !p.livedOnline(id))
	if err != nil {
		return err
	}
	return w.with(ctx, func(ctx context.Context) error {
		a, err := w.open(id)
		if err != nil {
			return err
		}
		defer a.Close()
		_, _, err = a.Compact(ctx)
		return err
	})
}
