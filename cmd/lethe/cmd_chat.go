package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/host"
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
		return converse(ctx, app, terminal.Config{
			Room: room, Banner: strings.TrimSpace(app.NearestRoom(room)), Timeout: options.timeout,
		})
	}
	text, err := talk.ReadMessage(app, "")
	if err != nil {
		return err
	}
	return talk.AskRoom(ctx, app, room, text, options.timeout)
}

// chatWithDefault attaches to the default identity, or runs it as long as the chat lasts.
func chatWithDefault(ctx context.Context, app *cli.App) error {
	bye := ""
	err := app.Talk(ctx, func(identity *host.Identity, banner string) error {
		if banner != "" {
			bye = fmt.Sprintf("%s has stopped; everything is saved. Continue with: %s\n", identity.Name,
				app.Lethe("--name %s%s", identity.Name, app.Runs.Again()))
		}
		room := app.RoomOf(identity.Identity)
		return converse(ctx, app, terminal.Config{Room: room, Self: identity.Self, Banner: banner})
	})
	if err == nil && app.Interactive() {
		fmt.Fprint(app.Out, bye)
	}
	return err
}

// converse talks in a room: full screen on a terminal, plain lines otherwise.
func converse(ctx context.Context, app *cli.App, conf terminal.Config) error {
	conf.In, conf.Out, conf.Err, conf.JSON = app.In, app.Out, app.Err, app.JSON
	conf.Home, conf.User, conf.Start = app.Home.Dir, app.Settings.UserName(), app.HowToHear(conf.Room)
	return app.BesideHosts(ctx, false, func(ctx context.Context) error {
		if app.DrawsScreen() && !conf.JSON {
			conf.Store, conf.Run = app.Look.Store, commandsBeside(ctx, app.HomeDir)
			return terminal.Screen(ctx, conf)
		}
		app.Tell(conf.Banner)
		return terminal.Plain(ctx, conf)
	})
}

// commandsBeside returns a function that runs a command on the same home and returns its output.
func commandsBeside(ctx context.Context, homeDir string) func(args ...string) string {
	return func(args ...string) string {
		var out bytes.Buffer
		beside := cli.New(strings.NewReader(""), &out, &out)
		if homeDir != "" {
			args = append([]string{"--home", homeDir}, args...)
		}
		execute(ctx, beside, args)
		return out.String()
	}
}
