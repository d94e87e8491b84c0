package main

import (
	"context"

	"lethe/cmd/lethe/cli"

	"github.com/spf13/cobra"
)

func newTakeCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "take NAME",
		Short: "Have an identity go on at this host",
		Long: `The host that has it can do nothing with it any more, whether it is asleep, silent or busy;
a call that it had begun there is told as one of unknown effect. What works for it comes along.`,
		Example: `  lethe take ada`,
		Args:    cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runTake(ctx, app, args)
		}),
	}
}

// runTake makes a life go on at this host.
func runTake(ctx context.Context, app *cli.App, args []string) error {
	shared, err := app.Others()
	if err != nil {
		return err
	}
	id, err := shared.Take(ctx, args[0])
	if err != nil {
		return err
	}
	app.Event("took", id)
	app.NoteWaiting(app.Home, id)
	app.Note("it goes on here: %s", app.HowToRun(id, ""))
	return nil
}
