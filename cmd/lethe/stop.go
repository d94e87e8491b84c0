package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge/report"
)

func newStopCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop [NAME]",
		Short: "Ask a running identity to stop, and wait until it has",
		RunE: app.withIdentity(func(ctx context.Context, id home.Identity, _ []string) error {
			return runStop(ctx, app, id)
		}),
	}
}

func runStop(ctx context.Context, app *app, id home.Identity) error {
	ran, err := report.Stop(ctx, id)
	if !ran {
		return hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: %s", app.howToRun(id, ""))
	}
	if err != nil {
		return err
	}
	app.event("stopped", id)
	return nil
}
