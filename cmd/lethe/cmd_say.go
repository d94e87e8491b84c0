package main

import (
	"cmp"
	"context"
	"strings"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/talk"

	"github.com/spf13/cobra"
)

// sayOptions are the flags of lethe say.
type sayOptions struct {
	as string
}

func newSayCommand(app *cli.App) *cobra.Command {
	var options sayOptions
	cmd := &cobra.Command{
		Use:   "say ROOM TEXT...",
		Short: "Append one message to a room",
		Example: `  lethe say dev "are you there?"
  lethe say dev --as bob -- --help is a flag`,
		Args: cli.MinimumArgs(2),
		RunE: app.MakingHome(func(ctx context.Context, args []string) error {
			return runSay(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "sign with this `NAME` (default: yours)")
	return cmd
}

func runSay(ctx context.Context, app *cli.App, options sayOptions, args []string) error {
	room, text := args[0], strings.Join(args[1:], " ")
	if err := cli.CheckRooms(room); err != nil {
		return err
	}
	return talk.Say(ctx, app, room, cmp.Or(options.as, app.Settings.UserName()), text)
}
