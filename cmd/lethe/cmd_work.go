package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/working"
)

func newWorkCommand(app *cli.App) *cobra.Command {
	cmd, list := listWork(app), listWork(app)
	list.Use, list.Short, list.Args = "list [NAME]", "List the plans of an identity by its name", cli.MaximumArgs(1)
	cmd.AddCommand(append(working.Changes(app), list)...)
	return cmd
}

func listWork(app *cli.App) *cobra.Command {
	var next bool
	cmd := &cobra.Command{
		Use:   "work",
		Short: "List the plans of an identity, and which steps passed",
		Args:  cli.MaximumArgs(0),
		RunE: app.ReadingIdentity(always, func(_ context.Context, id home.Identity, _ []string) error {
			return working.Show(app, id, next)
		}),
	}
	cmd.Flags().BoolVar(&next, "dry-run", false, "and what would begin next, with its price")
	return cmd
}
