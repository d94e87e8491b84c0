package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/terminal"
)

// chatOptions are the flags of lethe chat.
type chatOptions struct {
	once    bool
	timeout time.Duration
}

func newChatCommand(app *app) *cobra.Command {
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
		RunE: app.makingHome(func(ctx context.Context, args []string) error {
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
func runChat(ctx context.Context, app *app, options chatOptions, args []string) error {
	id, _ := app.defaultIdentity() // without one, its room is the default one
	room := cmp.Or(argument(args, 0), app.roomOf(id))
	if err := checkRooms(room); err != nil {
		return err
	}
	if !options.once {
		return converse(ctx, app, terminal.Config{
			Room: room, Banner: strings.TrimSpace(app.nearestRoom(room)), Timeout: options.timeout,
		})
	}
	text, err := readMessage(app, "")
	if err != nil {
		return err
	}
	return askRoom(ctx, app, inquiry{room, text, options.timeout})
}

// askRoom asks whoever hears a room.
func askRoom(ctx context.Context, app *app, inquiry inquiry) error {
	app.look.AwaitListener(ctx, inquiry.room)
	there := slices.DeleteFunc(app.look.Hearers(inquiry.room), func(id home.Identity) bool {
		_, running := home.Running(id)
		return !running
	})
	if len(there) == 0 {
		return hint(fmt.Errorf("wait for an answer: nobody is listening in room %s", inquiry.room),
			"%sstart one with: %s", app.nearestRoom(inquiry.room), app.howToHear(inquiry.room))
	}
	return app.attached(there, func(all []*host.Identity) error { return await(ctx, app, inquiry, all...) })
}

// chatWithDefault attaches to the default identity, or runs it as long as the chat lasts.
func chatWithDefault(ctx context.Context, app *app) error {
	bye := ""
	err := app.talk(ctx, func(identity *host.Identity, banner string) error {
		if banner != "" {
			bye = fmt.Sprintf("%s has stopped; everything is saved. Continue with: %s\n", identity.Name,
				app.lethe("--name %s%s", identity.Name, app.runs.again()))
		}
		room := app.roomOf(identity.Identity)
		return converse(ctx, app, terminal.Config{Room: room, Self: identity.Self, Banner: banner})
	})
	if err == nil && app.interactive() {
		fmt.Fprint(app.out, bye)
	}
	return err
}

// converse talks in a room: full screen on a terminal, plain lines otherwise.
func converse(ctx context.Context, app *app, conf terminal.Config) error {
	conf.In, conf.Out, conf.Err, conf.JSON = app.in, app.out, app.err, app.json
	conf.Home, conf.User, conf.Start = app.home.Dir, app.settings.UserName(), app.howToHear(conf.Room)
	return app.besideHosts(ctx, false, func(ctx context.Context) error {
		if app.interactive() && !conf.JSON {
			conf.Store, conf.Run = app.look.Store, commandsBeside(ctx, app.homeDir)
			return terminal.Screen(ctx, conf)
		}
		app.tell(conf.Banner)
		return terminal.Plain(ctx, conf)
	})
}

// commandsBeside returns a function that runs a command on the same home and returns its output.
func commandsBeside(ctx context.Context, homeDir string) func(args ...string) string {
	return func(args ...string) string {
		var out bytes.Buffer
		beside := newApp(strings.NewReader(""), &out, &out)
		if homeDir != "" {
			args = append([]string{"--home", homeDir}, args...)
		}
		beside.execute(ctx, args)
		return out.String()
	}
}
