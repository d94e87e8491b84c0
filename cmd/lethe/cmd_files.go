package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/files"
)

func newFilesCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "files NAME [PATH]",
		Short: "List the files that an identity has worked on, or the versions of one",
		Long: `Files lists the files that an identity has read or written by READ_FILE, WRITE_FILE and EDIT_FILE, each
with its newest version; with a PATH, all versions that it saw or made. BEFORE is the text that a version
replaced, if that had at most 1 MB. To bring one back: lethe cat REF >FILE.`,
		Example: `  lethe files ada
  lethe files ada notes.md`,
		Args: cli.RangeArgs(1, 2),
		RunE: app.WithIdentity(func(_ context.Context, id home.Identity, args []string) error {
			return files.List(app, id, cli.Argument(args, 1))
		}),
	}
}
