package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

const (
	botToken  = "TELEGRAM_BOT_TOKEN" // a variable of the environment
	tokenHint = "@BotFather gives you one; see docs/telegram.md"
)

func newTelegramCommand(app *app) *cobra.Command {
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
		RunE: app.withHome(func(ctx context.Context, _ []string) error {
			return runTelegram(ctx, app)
		}),
	}
	cmd.AddCommand(newTelegramAllowCommand(app), newTelegramRevokeCommand(app), newTelegramWhoCommand(app))
	return cmd
}

// runTelegram runs the bridge until it is told to stop.
func runTelegram(ctx context.Context, app *app) error {
	token, err := app.token()
	if err != nil {
		bridge.Failed(app.home.Dir, telegram.Name, err) // so that lethe bridges tells, too
		return err
	}
	if app.look.Store == nil { // a home is made only for a bridge that has a token
		if err := app.open(true); err != nil {
			return err
		}
	}
	sandbox.HideEnvironment() // the token in it is nobody else's
	app.unhurried()
	log := app.logTo(app.err)
	watcher := chat.NewWatcher(0, log)
	conf := app.settings.telegram()
	conf.Home, conf.People, conf.Names = app.home.Dir, app.settings.Deciders(), app.reservedNames
	conf.Token, conf.Store, conf.Watcher, conf.Log = token, app.look.Store, watcher, log
	conf.Ready = func(account string) {
		app.announce(map[string]string{"event": "ready", "bridge": telegram.Name, "bot": account}, "ready telegram @%s",
			account)
	}
	lost := make(chan error)
	if app.shared != nil {
		shared := app.shared.Bridge(telegram.Name)
		conf.Shared, lost = shared, shared.Lost
	}
	return app.besideHosts(ctx, true, func(ctx context.Context) error {
		return besideWatcher(ctx, watcher, func(ctx context.Context) error { return runUntilLost(ctx, conf, lost) })
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
	if cause := context.Cause(ctx); errors.As(cause, new(*home.ElsewhereError)) {
		return cause
	}
	return err
}

// telegram returns the settings of the bridge.
func (s *settings) telegram() telegram.Config {
	return telegram.Config{Settings: s.Telegram, Notify: s.Notified(config.ByTelegram)}
}

func (s *settings) checkTelegram() error {
	if err := s.telegram().Check(); err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	return nil
}

// token finds the token of the bot. It never returns it in an error.
func (app *app) token() (string, error) {
	token, err := readBotToken(app.tokenFile())
	if err != nil {
		return "", err
	}
	secret.Add(token)
	return token, nil
}

func readBotToken(file string) (string, error) {
	if token := secret.Value(botToken); token != "" {
		if err := telegram.CheckToken(token); err != nil {
			return "", hint(tokenError(fmt.Errorf("read %s: %w", botToken, err)), tokenHint)
		}
		return token, nil
	}
	if file == "" {
		err := fmt.Errorf("%s is not set, and config.toml names no telegram.token_file", botToken)
		return "", hint(tokenError(err), tokenHint)
	}
	token, err := telegram.ReadToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", hint(tokenError(err),
			"telegram.token_file in config.toml names it; put the token into it, mode 0600. "+tokenHint)
	}
	if err != nil {
		return "", hint(tokenError(err), "")
	}
	return token, nil
}

// tokenFile returns the path of telegram.token_file, or "".
func (app *app) tokenFile() string {
	file := app.settings.Telegram.TokenFile
	if file != "" && !filepath.IsAbs(file) {
		file = filepath.Join(app.home.Dir, file)
	}
	return file
}

// tokenFiles lists files outside the home that agents must not read.
func (app *app) tokenFiles() (files []string) {
	for _, file := range []string{app.settings.Serve.In(app.home.Dir).Key, app.tokenFile()} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// besideWatcher runs f, and a watcher as long as it lasts.
func besideWatcher(ctx context.Context, watcher *chat.Watcher, f func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	watching, end := context.WithCancel(ctx)
	group.Go(func() error { return watcher.Run(watching) })
	group.Go(func() error {
		defer end()
		return f(ctx)
	})
	return group.Wait()
}
