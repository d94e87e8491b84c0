package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
)

func newHostsDrainCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "drain HOST",
		Short:   "Ask a host to stop its identities and leave them to hosts that stand by",
		Long:    `Its daemon ends when they have stopped. docs/machines.md.`,
		Example: `  lethe hosts drain laptop`,
		Args:    cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return app.Drain(ctx, args[0])
		}),
	}
}
