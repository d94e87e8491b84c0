package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

func (p *program) bridgeCommand(call) error {
	return hint(usagef("name a bridge"), "lethe bridge telegram; a terminal or a pipe is: lethe chat")
}

const (
	botToken  = "TELEGRAM_BOT_TOKEN" // a variable of the environment
	tokenHint = "@BotFather gives you one; see docs/telegram.md"
)

// telegram is what the settings say of the bridge.
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
func (p *program) token() (token string, err error) {
	token, file, how := secret.Value(botToken), p.tokenFile(), tokenHint
	switch {
	case token != "":
		if err = telegram.CheckToken(token); err != nil {
			err = fmt.Errorf("read %s: %w", botToken, err)
		}
	case file == "":
		err = fmt.Errorf("%s is not set, and config.toml names no telegram.token_file", botToken)
	default:
		token, err = telegram.ReadToken(file)
		how = ""
		if errors.Is(err, fs.ErrNotExist) {
			how = "telegram.token_file in config.toml names it; put the token into it, mode 0600. " + tokenHint
		}
	}
	if err != nil {
		return "", hint(tokenError(err), "%s", how)
	}
	secret.Add(token)
	return token, nil
}

// tokenFile is where the configuration says that the token is; empty is nowhere.
func (p *program) tokenFile() string {
	file := p.settings.Telegram.TokenFile
	if file != "" && !filepath.IsAbs(file) {
		file = filepath.Join(p.home.Dir, file)
	}
	return file
}

// tokenFiles are those that agents must not read, beside the home.
func (p *program) tokenFiles() (files []string) {
	for _, file := range []string{p.settings.Serve.In(p.home.Dir).Key, p.tokenFile()} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// telegramCommand runs the bridge until it is told to stop.
func (p *program) telegramCommand(call call) error {
	token, err := p.token()
	if err != nil {
		bridge.Failed(p.home.Dir, telegram.Name, err) // so that lethe bridges tells, too
		return err
	}
	if p.look.Store == nil { // a home is made only for a bridge that has a token
		err = p.open(true)
	}
	if err != nil {
		return err
	}
	sandbox.HideEnvironment() // the token in it is nobody else's
	p.unhurried()
	log := p.logTo(p.err)
	watcher := chat.NewWatcher(0, log)
	c := p.settings.telegram()
	c.Home, c.People, c.Names = p.home.Dir, p.settings.Deciders(), p.reservedNames
	c.Token, c.Store, c.Watcher, c.Log = token, p.look.Store, watcher, log
	c.Ready = func(account string) {
		p.announce(map[string]string{"event": "ready", "bridge": telegram.Name, "bot": account}, "ready telegram @%s",
			account)
	}
	lost := make(chan error)
	if p.shared != nil {
		shared := p.shared.Bridge(telegram.Name)
		c.Shared, lost = shared, shared.Lost
	}
	run := func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() { // ends with ctx
			select {
			case err := <-lost:
				cancel(err)
			case <-ctx.Done():
			}
		}()
		err := telegram.Run(ctx, c)
		if cause := context.Cause(ctx); errors.As(cause, new(*home.ElsewhereError)) {
			err = cause
		}
		return err
	}
	return p.besideHosts(call, true, func(ctx context.Context) error { return besideWatcher(ctx, watcher, run) })
}

// besideWatcher runs f, and a watcher as long as it lasts.
func besideWatcher(ctx context.Context, watcher *chat.Watcher, f func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	around, end := context.WithCancel(ctx)
	g.Go(func() error { return watcher.Run(around) })
	g.Go(func() error {
		defer end()
		return f(ctx)
	})
	return g.Wait()
}

// reservedNames are those that nobody on the other side may sign with: yours, and
// those of identities.
func (p *program) reservedNames() []string {
	names := []string{p.settings.UserName()}
	all, _ := p.home.List()
	for _, id := range all {
		names = append(names, id.Name)
	}
	return names
}
