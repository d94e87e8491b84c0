package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/bridge/report"
)

func newStopCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop [NAME]",
		Short: "Ask a running identity to stop, and wait until it has",
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return runStop(ctx, app, args)
		}),
	}
}

func runStop(ctx context.Context, app *app, args []string) error {
	id, err := app.find(argument(args, 0))
	if err != nil {
		return err
	}
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
