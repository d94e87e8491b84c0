package main

import (
	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/restore"
)

func newRestoreCommand(app *cli.App) *cobra.Command {
	var options restore.Options
	cmd := &cobra.Command{
		Use:   "restore URL",
		Short: "Make a home of what is stored of one in a directory, a bucket or JetStream",
		Long: `Restore asks for the key that was in share.key of the home. Identities of a host that has
been silent for half a minute go on here, when they are run; those of a host that is there
stay with it.

With --at the home is as it was at that time, and shares nothing: its hosts go on with theirs.`,
		Example: `  lethe --home ~/new restore s3://s3.eu-central-1.amazonaws.com/bucket/home?region=eu-central-1
  lethe --home ~/then restore file:///mnt/nas/lethe --at 2026-11-20T12:57 --key share.key`,
		Args: cli.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return restore.Run(cmd.Context(), app, args[0], options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.At, "at", "", "as it was at this `TIME`")
	flags.StringVar(&options.KeyFile, "key", "", "a `FILE` with the key; otherwise it is asked for")
	flags.BoolVar(&options.Plain, "plain", false, "it was stored with share.plain = true")
	return cmd
}
