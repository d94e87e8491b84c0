package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/adopt"
	"lethe/cmd/lethe/adopting"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

func newAdoptCommand(app *cli.App) *cobra.Command {
	var options adopting.Options
	var names []string
	for _, agent := range adopt.Agents {
		names = append(names, agent.Name)
	}
	cmd := &cobra.Command{
		Use:   "adopt [SOURCE…]",
		Short: "Make what other agents keep of their talks a past that an identity finds again",
		Long: `Adopt lists what other agents keep on this machine: sessions, their span and size, and
what it does not understand. With a SOURCE it makes that a part of an identity's past,
faded: no model is asked, except for gists with --summarise. Again, it adopts what is new; what was erased stays away.
An identity that runs does it when it has nothing else to do. --watch goes on adopting, and so does the trigger
of --weekly, since other agents delete. With --dry-run nothing is written.

A SOURCE is the name of an agent, or NAME=PATH for a store elsewhere or an export:
` + strings.Join(names, ", ") + ".",
		Example: `  lethe adopt                                    what the agents on this machine keep
  lethe adopt claude-code codex --as ada         adopt it
  lethe adopt chatgpt=export.zip --dry-run       what was read, merged, doubled, not understood`,
		Args: cli.MinimumArgs(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			modes := 0
			for _, flag := range []string{"dry-run", "summarise", "watch"} {
				if cmd.Flags().Changed(flag) {
					modes++
				}
			}
			lists := len(args) == 0 && !options.Summarise
			switch {
			case modes > 1:
				return exit.Usagef("--dry-run, --summarise and --watch: leave out all but one of them")
			case lists || options.DryRun:
				return adopting.Look(cmd.Context(), app, options, args)
			}
			return app.WithHome(func(ctx context.Context, args []string) error {
				return adopting.Run(ctx, app, options, args)
			})(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.As, "as", "", "the identity `NAME`; else the default one")
	flags.StringVar(&options.Since, "since", "", "only what was said since this `DATE`: 2026-05-01")
	flags.BoolVar(&options.DryRun, "dry-run", false, "read the sources, and report")
	flags.BoolVar(&options.Summarise, "summarise", false, "have a model write gists of what was adopted; it tells the price first")
	flags.BoolVar(&options.Yes, "yes", false, "do not ask whether the price is right")
	flags.BoolVar(&options.Weekly, "weekly", false, "have a trigger of the identity adopt it again each week")
	flags.DurationVar(&options.Watch, "watch", 0, "go on, with a pause of so much `TIME` between two runs; else 10m")
	flags.Lookup("watch").NoOptDefVal = "10m"
	return cmd
}
