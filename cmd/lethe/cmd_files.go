package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/files"
)

func newFilesCommand(app *cli.App) *cobra.Command {
	var ref string
	cmd := &cobra.Command{
		Use:   "files NAME [PATH]",
		Short: "List the files that an identity has worked on, or the versions of one",
		Long: `Files lists the files that an identity has read or written by READ_FILE, WRITE_FILE and EDIT_FILE, each
with its newest version; with a PATH, all versions that it saw or made. BEFORE is the text that a version
replaced, if that had at most 1 MB; --restore brings it back, and keeps what stands there first.`,
		Example: `  lethe files ada
  lethe files ada notes.md
  lethe files ada notes.md --restore 9d1f60a7c2b3e845`,
		Args: cli.RangeArgs(1, 2),
		RunE: app.WithIdentity(func(ctx context.Context, id home.Identity, args []string) error {
			if ref != "" {
				return files.Restore(ctx, app, id, cli.Argument(args, 1), ref)
			}
			return files.List(app, id, cli.Argument(args, 1))
		}),
	}
	cmd.Flags().StringVar(&ref, "restore", "", "bring back the text of this `REF` as the file PATH")
	return cmd
}
