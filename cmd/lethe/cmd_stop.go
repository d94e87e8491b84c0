package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

func newStopCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:        "stop [NAME]",
		SuggestFor: []string{"kill", "shutdown", "quit", "exit"},
		Short:      "Ask a running identity to stop, and wait until it has",
		Args:       cli.MaximumArgs(1),
		RunE: app.WithIdentity(func(ctx context.Context, id home.Identity, _ []string) error {
			return runStop(ctx, app, id)
		}),
	}
}

func runStop(ctx context.Context, app *cli.App, id home.Identity) error {
	ran, err := report.Stop(ctx, id)
	if !ran {
		return exit.Hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: %s", app.HowToRun(id, ""))
	}
	if err != nil {
		return err
	}
	app.Event("stopped", id)
	return nil
}
