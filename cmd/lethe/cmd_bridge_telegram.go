package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/hiring"
	"lethe/internal/sandbox"
)

func newTelegramCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "telegram",
		Short: "The Telegram bridge",
		Long: `This bridge copies lines between rooms and chats of Telegram. Its token comes from
TELEGRAM_BOT_TOKEN, or from the file that telegram.token_file names in config.toml.

Nobody may write until you allow it: the bridge tells a stranger who writes to it an id,
for lethe bridge telegram allow ID. docs/telegram.md has the rest. It prints
"ready telegram @NAME" once it reaches Telegram.`,
		Example: `  export TELEGRAM_BOT_TOKEN=…
  lethe bridge telegram
  lethe bridge telegram allow 7654321 eve --room dev`,
		RunE: app.WithHome(func(ctx context.Context, _ []string) error {
			return runTelegram(ctx, app)
		}),
	}
	cmd.AddCommand(newTelegramAllowCommand(app), newTelegramRevokeCommand(app), newTelegramWhoCommand(app))
	return cmd
}

// runTelegram runs the bridge until it is told to stop.
func runTelegram(ctx context.Context, app *cli.App) error {
	token, err := app.BotToken()
	if err != nil {
		bridge.Failed(app.Home.Dir, telegram.Name, err) // so that lethe bridges tells, too
		return err
	}
	if app.Look.Store == nil { // a home is made only for a bridge that has a token
		if err := app.Open(true); err != nil {
			return err
		}
	}
	sandbox.HideEnvironment() // the token in it is nobody else's
	app.Unhurried()
	log := app.LogTo(app.Err)
	watcher := chat.NewWatcher(0, log)
	here, err := hiring.Look(app)
	if err != nil {
		return err
	}
	conf := app.Settings.Bridge()
	conf.Home, conf.People, conf.Names = app.Home.Dir, app.Settings.Deciders(), app.ReservedNames
	conf.Token, conf.Store, conf.Watcher, conf.Log = token, app.Look.Store, watcher, log
	conf.Hire = here.Engage
	conf.Ready = func(account string) {
		app.Announce(map[string]string{"event": "ready", "bridge": telegram.Name, "bot": account}, "ready telegram @%s",
			account)
	}
	return app.BesideHosts(ctx, true, func(ctx context.Context) error {
		lost := make(chan error)
		if app.Shared != nil {
			shared := app.Shared.Bridge(ctx, telegram.Name)
			conf.Shared, lost = shared, shared.Lost
		}
		return cli.BesideWatcher(ctx, watcher, func(ctx context.Context) error { return runUntilLost(ctx, conf, lost) })
	})
}

// runUntilLost runs the bridge until ctx ends, or another host has taken it.
func runUntilLost(ctx context.Context, conf telegram.Config, lost <-chan error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with ctx
		select {
		case err := <-lost:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	err := telegram.Run(ctx, conf)
	if cause := context.Cause(ctx); home.IsElsewhere(cause) {
		return cause
	}
	return err
}
