package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// telegramAllowOptions are the flags of lethe bridge telegram allow.
type telegramAllowOptions struct {
	room string
}

func newTelegramAllowCommand(app *cli.App) *cobra.Command {
	var options telegramAllowOptions
	cmd := &cobra.Command{
		Use:   "allow ID [NAME]",
		Short: "Let the person or group with this id speak",
		Long: `Allow lists a person, or a group, whose id is a negative number: allow -- -1001234, with
a point and the topic behind it for a topic that is to have a room of its own. The bridge
tells strangers their id when they write to it; /id does, too. NAME signs the lines of a
person; without it, the name that Telegram shows does. Given again, it takes the place of
what was given before. The bridge need not be restarted.`,
		Args: cli.RangeArgs(1, 2),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runTelegramAllow(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.room, "room", "", "the `ROOM` to connect the chat with (default: telegram.room, or dev)")
	return cmd
}

func runTelegramAllow(app *cli.App, options telegramAllowOptions, args []string) error {
	if err := cli.CheckRooms(cmp.Or(options.room, config.DefaultRoom)); err != nil {
		return err
	}
	id := args[0]
	if err := telegram.CheckID(id); err != nil {
		return exit.With(exit.Usage, err)
	}
	if _, err := app.Store(); err != nil {
		return err
	}
	isGroup := strings.HasPrefix(id, "-")
	who, err := app.Policy().Allow(strings.Join(args, " "), options.room, isGroup)
	if err != nil {
		return err
	}
	room := bot.Room(app.Settings.Telegram, options.room)
	return app.Print(map[string]string{"allowed": who.ID, "name": who.Name, "room": room},
		"allowed: %s may write to room %s\n", who.ID, room)
}
