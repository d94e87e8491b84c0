package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
)

func newTelegramRevokeCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back what allow gave, by the id of the user or group",
		Args:  cli.ExactArgs(1),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runTelegramRevoke(app, args)
		}),
	}
}

func runTelegramRevoke(app *cli.App, args []string) error {
	if _, err := app.Store(); err != nil {
		return err
	}
	if err := app.Policy().Revoke(args[0]); err != nil {
		return err
	}
	return app.Print(map[string]string{"revoked": args[0]}, "revoked: %s may not write any more\n", args[0])
}
