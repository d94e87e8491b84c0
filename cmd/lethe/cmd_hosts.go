package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
)

func newHostsCommand(app *cli.App) *cobra.Command {
	var cost bool
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "List the hosts that share the home, and which identities each has",
		Example: `  lethe hosts
  lethe hosts --cost`,
		RunE: app.WithHome(func(ctx context.Context, _ []string) error {
			return app.ShowHosts(ctx, cost)
		}),
	}
	cmd.Flags().BoolVar(&cost, "cost", false,
		"print what each daemon has asked of the bucket since it began, and what a month and a million turns cost")
	cmd.AddCommand(newHostsDrainCommand(app), newHostsKeyCommand(app))
	return cmd
}
