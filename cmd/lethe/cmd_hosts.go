package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
)

func newHostsCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts that share the home, and which identities each has",
		Example: `  lethe hosts`,
		RunE: app.WithHome(func(ctx context.Context, _ []string) error {
			return app.ShowHosts(ctx)
		}),
	}
	cmd.AddCommand(newHostsDrainCommand(app), newHostsKeyCommand(app))
	return cmd
}
