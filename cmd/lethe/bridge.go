package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

// transport is a bridge to an outside service, as the command line runs it.
type transport struct {
	name    string // of its command, of its table in config.toml, and of its directory under bridges/
	service string // what people call the service

	variable   string // of the environment, which holds the token
	checkToken func(token string) error
	readToken  func(file string) (string, error)
	tokenHint  string // where a token comes from

	settings func(*settings) bridgeSettings
	inForce  func(*program) bool // whether the running bridge has the settings of config.toml
	run      func(context.Context, *program, bridgeParts) error
}

// transports are the bridges that there are: a new one is a package under bridge/ and a line
// here.
func transports() []transport { return []transport{telegramTransport()} }

func bridgeNames() (names []string) {
	for _, t := range transports() {
		names = append(names, t.name)
	}
	return names
}

// bridgeSettings are what the table of any bridge in config.toml may say.
type bridgeSettings struct {
	TokenFile string   `toml:"token_file"`
	Room      string   `toml:"room"` // of chats without a route
	Users     []string `toml:"users"`
	Chats     []string `toml:"chats"`
	Members   string   `toml:"members"`
	Routes    []route  `toml:"route"`
}

// route maps a chat, or one topic of it, to a room.
type route struct {
	Chat  string `toml:"chat"`
	Topic int    `toml:"topic"`
	Room  string `toml:"room"`
}

// bridgeParts are what the program gives to a bridge that it runs.
type bridgeParts struct {
	token   string
	store   *blobs.Store
	watcher *chat.Watcher
	log     *slog.Logger
	hangup  <-chan os.Signal     // asks it to read config.toml again
	ready   func(account string) // to be called once the service has answered
}

func (p *program) bridgeCommand() *cobra.Command {
	var services []string
	for _, t := range transports() {
		services = append(services, t.service)
	}
	example := "lethe bridge " + bridgeNames()[0]
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Connect rooms with " + strings.Join(services, ", "),
		Long: `A bridge copies lines between rooms and an outside service. It is a process of its
own: run it beside the daemon, or let the daemon keep it: lethe run --with ` + bridgeNames()[0] + `.

lethe bridges tells how the bridges are; docs/bridges.md how to write another one.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hint(usagef("name a bridge"), "%s; a terminal or a pipe is: lethe chat", example)
		},
	}
	for _, t := range transports() {
		one := &cobra.Command{
			Use: t.name, Short: "The " + t.service + " bridge", Args: noCommand,
			Long: fmt.Sprintf(`This bridge copies lines between rooms and chats of %s. Its token comes from
%s, or from the file that %[3]s.token_file names in config.toml.

Nobody may write until you allow it: a stranger who writes to it gets a code, which
you approve with lethe bridge %[3]s allow CODE. docs/%[3]s.md has the rest. It
prints "ready %[3]s @NAME" once it reaches %[1]s.`, t.service, t.variable, t.name),
			Example: fmt.Sprintf(`  export %s=…
  lethe bridge %[2]s
  lethe bridge %[2]s allow K7QM3XPA --room dev`, t.variable, t.name),
			// A home is made only for a bridge that has a token.
			PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { p.noteFlags(cmd); return p.open(false) },
			RunE:              func(cmd *cobra.Command, _ []string) error { return p.runBridge(cmd.Context(), t) },
		}
		one.AddCommand(p.allowCommand(t), p.whoCommand(t), p.revokeCommand(t))
		cmd.AddCommand(one)
	}
	return cmd
}

// tokenError is a token that is missing, cannot be read, or is refused.
type tokenError struct{ error }

func (e tokenError) Unwrap() error { return e.error }

// token finds the token of a bridge. It never returns it in an error.
func (p *program) token(t transport) (string, error) {
	if token := strings.TrimSpace(os.Getenv(t.variable)); token != "" {
		if err := t.checkToken(token); err != nil {
			return "", hint(tokenError{fmt.Errorf("read %s: %w", t.variable, err)}, "%s", t.tokenHint)
		}
		return token, nil
	}
	file := p.tokenFile(t)
	if file == "" {
		return "", hint(tokenError{fmt.Errorf("%s is not set, and config.toml names no %s.token_file", t.variable, t.name)}, "%s", t.tokenHint)
	}
	token, err := t.readToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", hint(tokenError{err}, "%s.token_file in config.toml names it; put the token into it, mode 0600. %s", t.name, t.tokenHint)
	}
	if err != nil {
		return "", tokenError{err}
	}
	secret.Add(token)
	return token, nil
}

// tokenFile is where the configuration says that the token is; empty is nowhere.
func (p *program) tokenFile(t transport) string {
	file := t.settings(&p.settings).TokenFile
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
	for _, t := range transports() {
		if file := p.tokenFile(t); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// runBridge runs a bridge until it is told to stop.
func (p *program) runBridge(ctx context.Context, t transport) error {
	token, err := p.token(t)
	if err != nil {
		bridge.Failed(p.home.Dir, t.name, err) // so that lethe bridges tells, too
		return err
	}
	if err := p.open(true); err != nil {
		return err
	}
	sandbox.HideEnvironment() // the token in it is nobody else's
	store, err := p.store()
	if err != nil {
		return err
	}
	p.unhurried()
	log := p.logTo(p.err)
	watcher := chat.NewWatcher(0, log)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	ready := func(account string) {
		p.announce(map[string]string{"event": "ready", "bridge": t.name, "bot": account}, "ready %s @%s", t.name, account)
	}
	g, ctx := errgroup.WithContext(ctx)
	around, end := context.WithCancel(ctx)
	g.Go(func() error { return watcher.Run(around) })
	g.Go(func() error {
		defer end()
		return t.run(ctx, p, bridgeParts{token, store, watcher, log, hangup, ready})
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
