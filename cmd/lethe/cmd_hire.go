package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/hiring"
)

func newHireCommand(app *cli.App) *cobra.Command {
	var options hiring.Options
	cmd := &cobra.Command{
		Use:   "hire ROLE",
		Short: "Boot a life for a role, with a room that only its people may read, or have a fired one go on",
		Long: `Hire boots an identity with the soul, first memory and settings of roles/ROLE in the home, and a
room of its own. A daemon keeps it running until it is fired. docs/agents.md has the files of a role.`,
		Example: `  lethe hire nurse --for ann
  lethe hire clerk --for ann --for ben --as house`,
		Args: cli.MaximumArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return hiring.Run(ctx, app, options, cli.Argument(args, 0))
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&options.For, "for", nil, "`WHO` may read its room, or that to split; may be given again")
	flags.StringVar(&options.As, "as", "", "`NAME` of the identity, and of its room (default: ROLE-WHO)")
	flags.StringVar(&options.Split, "split", "", "show which life each chat of `NAME` would get, with its past")
	flags.BoolVar(&options.Yes, "yes", false, "and have it get that life, which NAME hears no longer")
	return cmd
}

func newFireCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "fire NAME",
		Short: "Stop a hired identity for good; its life stays, and hiring it again resumes it",
		Args:  cli.ExactArgs(1),
		RunE: app.WithIdentity(func(ctx context.Context, id home.Identity, _ []string) error {
			return hiring.Fire(ctx, app, id)
		}),
	}
}
