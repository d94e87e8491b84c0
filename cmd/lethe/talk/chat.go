package talk

import (
	"context"
	"fmt"

	"lethe/agent/host"
	"lethe/bridge/terminal"
	"lethe/cmd/lethe/cli"
)

// Beside runs a command on the same home and returns its output.
type Beside func(ctx context.Context, args ...string) string

// ChatWithDefault attaches to the default identity, or runs it as long as the chat lasts.
func ChatWithDefault(ctx context.Context, app *cli.App, beside Beside) error {
	bye := ""
	err := app.Talk(ctx, func(ctx context.Context, identity *host.Identity, banner string) error {
		if banner != "" {
			bye = fmt.Sprintf("%s has stopped; everything is saved. Continue with: %s\n", identity.Name,
				app.Lethe("--name %s%s", identity.Name, app.Runs.Again()))
		}
		room := app.RoomOf(identity.Identity)
		return Chat(ctx, app, terminal.Config{Room: room, Self: identity.Self, Banner: banner}, beside)
	})
	if err == nil && app.Interactive() {
		fmt.Fprint(app.Out, bye)
	}
	return err
}

// Chat talks in a room: full screen on a terminal, plain lines otherwise.
func Chat(ctx context.Context, app *cli.App, conf terminal.Config, beside Beside) error {
	conf.In, conf.Out, conf.Err, conf.JSON = app.In, app.Out, app.Err, app.JSON
	conf.Home, conf.User, conf.Start = app.Home.Dir, app.Settings.UserName(), app.HowToHear(conf.Room)
	return app.BesideRoom(ctx, conf.Room, func(ctx context.Context) error {
		if copies := app.Copies(); copies != nil {
			conf.Afar, conf.AfarStore = copies.Dir, copies.Store
		}
		if app.DrawsScreen() && !conf.JSON {
			conf.Store = app.Look.Store
			conf.Run = func(args ...string) string { return beside(ctx, args...) }
			return terminal.Screen(ctx, conf)
		}
		conf.Order = app.Home.Room
		app.Tell(conf.Banner)
		return terminal.Plain(ctx, conf)
	})
}
