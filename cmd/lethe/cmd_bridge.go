package main

import (
	"context"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"

	"github.com/spf13/cobra"
)

func newBridgeCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Connect rooms with Telegram",
		Long: `A bridge copies lines between rooms and an outside service. It is a process of its
own: run it beside the daemon, or let the daemon keep it: lethe run --with telegram.

lethe bridges tells how the bridges are; docs/bridges.md how to write another one.`,
		RunE: app.WithHome(func(context.Context, []string) error {
			return exit.Hint(exit.Usagef("name a bridge"), "lethe bridge telegram; a terminal or a pipe is: lethe chat")
		}),
	}
	cmd.AddCommand(newTelegramCommand(app))
	return cmd
}
