package main

import (
	"context"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/daemon"

	"github.com/spf13/cobra"
)

func newRunCommand(app *cli.App) *cobra.Command {
	var options daemon.Options
	cmd := &cobra.Command{
		Use:        "run [NAME]...",
		SuggestFor: []string{"start", "resume", "daemon"},
		Short:      "Run identities as a daemon: these, the default one, or a new one",
		Long: `Run is the daemon. It resumes the identities that are given by name, hash or the
beginning of a hash. With --name, run resumes the identity of that name, or boots it.
Without either, run resumes the default identity, or boots it.

Run prints "ready <hash> <name>" once an identity hears its rooms. SIGINT or SIGTERM
stop it within two seconds. SIGHUP makes paused identities try again.

--with keeps a bridge running beside the daemon, as a process of its own.

One daemon of a home also runs the identities that people have started on the page; with
--started it runs no others, and ends when the last of them is stopped.`,
		Example: `  lethe run --name ada --soul ada.md --room dev --room ops
  lethe run ada 51c0
  lethe run --offline
  lethe run --with telegram --with serve`,
		Args: cobra.ArbitraryArgs,
		RunE: app.MakingHome(func(ctx context.Context, args []string) error {
			return daemon.Run(ctx, app, options, args)
		}),
	}
	app.Runs.AddTo(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&options.Started, "started", false, "run only what people have started on the page")
	flags.StringArrayVar(&options.With, "with", nil,
		"`BRIDGE` to keep running beside the daemon: telegram, serve; may be repeated")
	return cmd
}
