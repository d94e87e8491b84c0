package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/home"
	"lethe/report"
)

func (p *program) stopCommand() *cobra.Command {
	return p.about(&cobra.Command{
		Use:   "stop [NAME]",
		Short: "Ask a running identity to stop, and wait until it has",
	}, func(ctx context.Context, id home.Identity) error {
		ran, err := report.Stop(ctx, id)
		if !ran {
			err = hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: %s", p.howToRun(id, ""))
		}
		if err != nil {
			return err
		}
		p.event("stopped", id)
		return nil
	})
}

// event prints what has happened to an identity: "ready" or "stopped".
func (p *program) event(what string, id home.Identity) {
	p.announce(map[string]string{"event": what, "self": id.Self, "name": id.Name}, "%s %s %s", what, id.Self, id.Name)
}
