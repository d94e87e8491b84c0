package main

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/bridge/terminal"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/talk"
)

// chatOptions are the flags of lethe chat.
type chatOptions struct {
	once    bool
	timeout time.Duration
}

func newChatCommand(app *cli.App) *cobra.Command {
	var options chatOptions
	cmd := &cobra.Command{
		Use:   "chat [ROOM]",
		Short: "Talk in a room: full screen on a terminal, plain lines in a pipe",
		Long: `Chat connects you with a room: dev, or one that the default identity hears. On a
terminal it is a full-screen chat (/help shows the keys). In a pipe each line of the
input is a message, and what the agents say is printed. At the end of the input, chat
waits for the answers.`,
		Example: `  lethe chat dev
  git diff | lethe chat dev --once --timeout 2m`,
		Args: cli.MaximumArgs(1),
		RunE: app.MakingHome(func(ctx context.Context, args []string) error {
			return runChat(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.once, "once", false, "send the whole input as one message and print only the answer")
	flags.DurationVar(&options.timeout, "timeout", 0,
		"wait for answers at most for this `DURATION`, such as 90s (default: no bound)")
	return cmd
}

// runChat talks in a room, or sends one message to it and waits for the answers.
func runChat(ctx context.Context, app *cli.App, options chatOptions, args []string) error {
	id, _ := app.DefaultIdentity() // without one, its room is the default one
	room := cmp.Or(cli.Argument(args, 0), app.RoomOf(id))
	if err := cli.CheckRooms(room); err != nil {
		return err
	}
	if !options.once {
		return talk.Chat(ctx, app, terminal.Config{
			Room: room, Banner: strings.TrimSpace(app.NearestRoom(room)), Timeout: options.timeout,
		}, beside(app))
	}
	text, err := talk.ReadMessage(app, "")
	if err != nil {
		return err
	}
	return talk.AskRoom(ctx, app, room, text, options.timeout)
}

// beside returns a function that runs a command on the same home and returns its output.
func beside(app *cli.App) talk.Beside {
	return func(ctx context.Context, args ...string) string {
		var out bytes.Buffer
		other := cli.New(strings.NewReader(""), &out, &out)
		if app.HomeDir != "" {
			args = append([]string{"--home", app.HomeDir}, args...)
		}
		execute(ctx, other, args)
		return out.String()
	}
}
