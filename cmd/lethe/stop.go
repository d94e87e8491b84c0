package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
)

func (p *program) stopCommand() *cobra.Command {
	return p.about(&cobra.Command{
		Use:   "stop [NAME]",
		Short: "Ask a running identity to stop, and wait until it has",
	}, func(ctx context.Context, id agent.Identity) error {
		stopped, err := p.stopped(ctx, id)
		if err != nil {
			return err
		}
		if !stopped {
			return hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: %s", p.howToRun(id, ""))
		}
		p.event("stopped", id)
		return nil
	})
}

// stopped stops an identity and waits for it; false for one that did not run.
func (p *program) stopped(ctx context.Context, id agent.Identity) (bool, error) {
	pid, running := agent.Running(id)
	if !running {
		return false, nil
	}
	if err := agent.Stop(id); err != nil {
		return false, err
	}
	for deadline := time.Now().Add(10 * time.Second); ctx.Err() == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, running := agent.Running(id); !running {
			return true, nil
		}
	}
	return false, cmp.Or(ctx.Err(), hint(fmt.Errorf("stop %s: it still runs in process %s", id.Name, pid), "it has been asked; kill %s ends it at once and loses nothing", pid))
}

// event prints what has happened to an identity: "ready" or "stopped".
func (p *program) event(what string, id agent.Identity) {
	p.announce(map[string]string{"event": what, "self": id.Self, "name": id.Name}, "%s %s %s", what, id.Self, id.Name)
}
