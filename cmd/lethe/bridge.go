package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"lethe/bridge"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

func (p *program) bridgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Connect rooms with Telegram",
		Long: `A bridge copies lines between rooms and an outside service. It is a process of its
own: run it beside the daemon, or let the daemon keep it: lethe run --with telegram.

lethe bridges tells how the bridges are; docs/write-a-bridge.md how to write another one.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hint(usagef("name a bridge"), "lethe bridge telegram; a terminal or a pipe is: lethe chat")
		},
	}
	one := &cobra.Command{
		Use: telegram.Name, Short: "The Telegram bridge", Args: noCommand,
		Long: `This bridge copies lines between rooms and chats of Telegram. Its token comes from
TELEGRAM_BOT_TOKEN, or from the file that telegram.token_file names in config.toml.

Nobody may write until you allow it: the bridge tells a stranger who writes to it an id,
for lethe bridge telegram allow ID. docs/telegram.md has the rest. It prints
"ready telegram @NAME" once it reaches Telegram.`,
		Example: `  export TELEGRAM_BOT_TOKEN=…
  lethe bridge telegram
  lethe bridge telegram allow 7654321 eve --room dev`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runBridge(cmd.Context()) },
	}
	one.AddCommand(p.allowCommand(), p.whoCommand(), p.revokeCommand())
	cmd.AddCommand(one)
	return cmd
}

const (
	botToken  = "TELEGRAM_BOT_TOKEN" // a variable of the environment
	tokenHint = "@BotFather gives you one; see docs/telegram.md"
)

// telegram is what the settings say of the bridge.
func (s *settings) telegram() telegram.Config {
	return telegram.Config{Settings: s.Telegram, Notify: s.Notified()}
}

func (s *settings) checkTelegram() error {
	if err := s.telegram().Check(); err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	return nil
}

// token finds the token of the bot. It never returns it in an error.
func (p *program) token() (string, error) {
	if token := strings.TrimSpace(os.Getenv(botToken)); token != "" {
		if err := telegram.CheckToken(token); err != nil {
			return "", hint(tokenError(fmt.Errorf("read %s: %w", botToken, err)), tokenHint)
		}
		return token, nil
	}
	file := p.tokenFile()
	if file == "" {
		return "", hint(tokenError(fmt.Errorf("%s is not set, and config.toml names no telegram.token_file", botToken)),
			tokenHint)
	}
	token, err := telegram.ReadToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", hint(tokenError(err), "telegram.token_file in config.toml names it; put the token into it, mode 0600. "+
			tokenHint)
	}
	if err != nil {
		return "", tokenError(err)
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
	if key := p.settings.Serve.In(p.home.Dir).Key; key != "" {
		files = append(files, key)
	}
	if file := p.tokenFile(); file != "" {
		files = append(files, file)
	}
	return files
}

// runBridge runs the bridge until it is told to stop.
func (p *program) runBridge(ctx context.Context) error {
	token, err := p.token()
	if err != nil {
		bridge.Failed(p.home.Dir, telegram.Name, err) // so that lethe bridges tells, too
		return err
	}
	if err := p.open(true); err != nil { // a home is made only for a bridge that has a token
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
	return besideWatcher(ctx, watcher, func(ctx context.Context) error { return telegram.Run(ctx, c) })
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
