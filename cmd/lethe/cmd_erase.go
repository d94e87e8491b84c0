package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/erasing"
)

func newEraseCommand(app *cli.App) *cobra.Command {
	var options erasing.Options
	cmd := &cobra.Command{
		Use:   "erase [NAME] [REF|TEXT|-]",
		Short: "Erase something from a life for good, wherever it stands",
		Long: `Erase lists every place where a life holds something, and changes nothing. With --yes it
erases all of them, for good: [erased...] or dots stand there then. An identity that runs is
stopped first.

With - the text is read from standard input, and at a terminal not shown: so a password is
in no shell history and no list of processes. REF erases one text, such as a tool's result,
with its gist and its summaries; --person what somebody has said.`,
		Example: `  lethe erase ada -                   # asks for the text; lists the places
  pass show bank | lethe erase ada - --yes
  lethe erase ada hash=3fa9c0d2e1b4a5f6 --yes
  lethe erase ada --person bob --derived`,
		Args: cli.MaximumArgs(2),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return erasing.Run(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.All, "all", false, "erase from every life of the home")
	flags.BoolVar(&options.Derived, "derived", false, "with --person: and the summaries that were made of it")
	flags.StringVar(&options.Person, "person", "", "erase what `NAME` has said in the rooms of the life")
	flags.BoolVar(&options.Workspace, "workspace", false, "erase in the files of the tools, too")
	flags.BoolVar(&options.Many, "many", false, "with --yes: more than 10,000 places, too")
	flags.BoolVar(&options.Yes, "yes", false, "erase")
	return cmd
}
