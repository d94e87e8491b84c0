package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/health"
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

lethe bridges tells how the bridges are; docs/bridges.md how to write another one.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hint(usagef("name a bridge"), "lethe bridge telegram; a terminal or a pipe is: lethe chat")
		},
	}
	cmd.AddCommand(p.telegramCommand())
	return cmd
}

func (p *program) telegramCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "telegram",
		Short: "The Telegram bridge",
		Long: `Telegram copies lines between rooms and chats of a Telegram bot. The token comes from
TELEGRAM_BOT_TOKEN, or from the file that telegram.token_file names in config.toml.

Nobody may write until you allow it: a stranger who writes to the bot gets a code,
which you approve with lethe bridge telegram allow CODE. docs/telegram.md has the
rest. It prints "ready telegram @bot" once it reaches Telegram.`,
		Example: `  export TELEGRAM_BOT_TOKEN=…
  lethe bridge telegram
  lethe bridge telegram allow K7QM3XPA --room dev`,
		Args: noCommand,
		// A home is made only for a bridge that has a token.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { p.noteFlags(cmd); return p.open(false) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return p.telegram(cmd.Context()) },
	}
	cmd.AddCommand(p.allowCommand(), p.whoCommand(), p.revokeCommand())
	return cmd
}

// tokenVariable holds the bot's token.
const tokenVariable = "TELEGRAM_BOT_TOKEN"

// errNoToken says that there is no token to reach Telegram with.
var errNoToken = errors.New(tokenVariable + " is not set, and config.toml names no telegram.token_file")

// telegramToken finds the token. It never returns it in an error.
func (p *program) telegramToken() (string, error) {
	if token := strings.TrimSpace(os.Getenv(tokenVariable)); token != "" {
		if err := telegram.CheckToken(token); err != nil {
			return "", hint(fmt.Errorf("read %s: %w", tokenVariable, err), "@BotFather gives you one; see docs/telegram.md")
		}
		return token, nil
	}
	file := p.tokenFile()
	if file == "" {
		return "", hint(errNoToken, "@BotFather gives you one; see docs/telegram.md")
	}
	token, err := telegram.ReadToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", hint(tokenFileError{err}, "telegram.token_file in config.toml names it; put the token from @BotFather into it, mode 0600")
	}
	if err != nil {
		return "", tokenFileError{err}
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

// tokenFileError is a token file that cannot be used.
type tokenFileError struct{ error }

func (e tokenFileError) Unwrap() error { return e.error }

// telegram runs the bridge until it is told to stop.
func (p *program) telegram(ctx context.Context) error {
	token, err := p.telegramToken()
	if err != nil {
		_ = bridge.Failed(p.home.Dir, telegram.Name, err) // so that lethe bridges tells, too
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
	log, t := p.logTo(p.err), p.settings.Telegram
	watcher := chat.NewWatcher(0, log)
	conf := t.config()
	conf.Home, conf.Store, conf.Watcher, conf.Log, conf.Token = p.home.Dir, store, watcher, log, token
	conf.Names = p.reservedNames
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	conf.Reload, conf.Hangup = p.reload, hangup
	conf.Ready = func(bot string) {
		if p.json {
			printLine(p.out, map[string]string{"event": "ready", "bridge": telegram.Name, "bot": bot})
			return
		}
		fmt.Fprintf(p.out, "ready telegram @%s\n", bot)
	}
	g, ctx := errgroup.WithContext(ctx)
	around, end := context.WithCancel(ctx)
	g.Go(func() error { return watcher.Run(around) })
	g.Go(func() error {
		defer end()
		return telegram.Run(ctx, conf)
	})
	return g.Wait()
}

// reservedNames are those that nobody on the other side may sign with: yours, and
// those of identities.
func (p *program) reservedNames() []string {
	names := []string{p.userName()}
	all, _ := p.home.List()
	for _, id := range all {
		names = append(names, id.Name)
	}
	return names
}

// changePolicy is policy for who changes it: a bridge that has never run has given
// nobody a code, and gets no directory by that.
func (p *program) changePolicy() (*access.Policy, error) {
	if _, err := os.Stat(p.telegramDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, hint(fmt.Errorf("open bridge telegram in %s: %w", p.home.Dir, agent.ErrNotFound), "it has not run here yet: %s", p.lethe("bridge telegram"))
	}
	return p.policy()
}

func (p *program) telegramDir() string { return filepath.Join(p.home.Dir, "bridges", telegram.Name) }

// policy opens the Telegram bridge's list of who may speak.
func (p *program) policy() (*access.Policy, error) {
	policy, t := access.New(p.telegramDir()), p.settings.Telegram
	err := policy.Static(access.Lists{Users: t.Users, Chats: t.Chats, Members: t.Members, Names: p.reservedNames()})
	if err != nil {
		return nil, usagef("read %s: telegram: %w", filepath.Join(p.home.Dir, "config.toml"), err)
	}
	return policy, nil
}

func (p *program) allowCommand() *cobra.Command {
	var room string
	cmd := &cobra.Command{
		Use:   "allow CODE",
		Short: "Let the person or group speak that was given this code",
		Long: `Allow approves a pairing code. Somebody whom the bot does not know gets one when
they write to it; it is good for an hour and for one use. Ask them for it over a
way that tells you who they are. The bridge need not be restarted.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			if room != "" {
				if err := checkRooms(room); err != nil {
					return err
				}
			}
			policy, err := p.changePolicy()
			if err != nil {
				return err
			}
			who, err := policy.Approve(list[0], room)
			if errors.Is(err, access.ErrNoSuchCode) {
				return hint(err, "it is mistyped, used already, or older than an hour; have them write to the bot for a new one; all who wait: %s", p.lethe("bridge telegram who"))
			}
			if err != nil {
				return err
			}
			p.tellStale()
			return p.printAllowed(who, room)
		},
	}
	cmd.Flags().StringVar(&room, "room", "", "the `ROOM` to connect the chat with (default: telegram.room, or dev)")
	_ = cmd.RegisterFlagCompletionFunc("room", p.completeRooms) // fails for a flag that is not there
	return cmd
}

// printAllowed says who was let in, and where the lines go.
func (p *program) printAllowed(who access.Applicant, room string) error {
	id := who.Chat
	if who.Private || who.Member {
		id = who.ID
	}
	to := p.roomFor(access.Listed{Person: access.Person{ID: id, Room: room}})
	why := ""
	if room != "" && to != room {
		why = fmt.Sprintf(", where a route in config.toml sends that chat, and not to %s", room)
	}
	to = cmp.Or(to, p.settings.Telegram.Room, defaultRoom)
	if p.json {
		return p.printJSON(map[string]string{"allowed": id, "name": who.String(), "room": to})
	}
	_, err := fmt.Fprintf(p.out, "allowed: %s may write to room %s%s\n", chat.Sanitize(who.String()), to, why)
	return err
}

// tellStale warns when the running bridge has other settings than config.toml.
func (p *program) tellStale() {
	all, err := bridge.ReadHealth(p.home.Dir)
	i := slices.IndexFunc(all, func(h health.Health) bool { return h.Name == telegram.Name })
	conf := p.settings.Telegram.config()
	conf.Home = p.home.Dir
	if err == nil && i >= 0 && all[i].Runs() && !conf.InForce() {
		p.note("warning", "the running bridge has not read config.toml since it was changed: kill -HUP %d (base_url and rich need a restart)", all[i].PID)
	}
}

func (p *program) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back what allow gave, by the id of the user or group",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			policy, err := p.changePolicy()
			if err != nil {
				return err
			}
			err = policy.Revoke(list[0])
			p.tellStale()
			if errors.Is(err, access.ErrNotListed) {
				return hint(err, "%s lists the ids", p.lethe("bridge telegram who"))
			}
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]string{"revoked": list[0]})
			}
			fmt.Fprintf(p.out, "revoked: %s may not write any more\n", list[0])
			return nil
		},
	}
}

func (p *program) whoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "who",
		Short: "Print who may speak, who waits to be allowed, and where their lines go",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			policy, err := p.policy()
			if err != nil {
				return err
			}
			l, err := policy.List()
			if err != nil {
				return err
			}
			p.tellStale()
			if p.json {
				return p.printJSON(l)
			}
			return p.printPolicy(l)
		},
	}
}

func (p *program) printPolicy(l access.Listing) error {
	if len(l.Users)+len(l.Chats) == 0 {
		fmt.Fprintf(p.out, "nobody may write. A person who writes to the bot gets a code; approve it with: %s\n", p.lethe("bridge telegram allow CODE"))
	} else {
		t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "MAY WRITE\tID\tNAME\tROOM\tBY")
		p.printListed(t, "user", l.Users)
		p.printListed(t, "chat", l.Chats)
		p.printTopics(t, l.Chats)
		p.printTopics(t, l.Users)
		if err := t.Flush(); err != nil {
			return err
		}
		who := "everyone in it"
		if l.Members == access.MembersListed {
			who = "of its members only the users above"
		}
		fmt.Fprintf(p.out, "may speak in private: the users above; in a chat above: %s; anywhere else: nobody\n", who)
	}
	for _, w := range l.Pending {
		fmt.Fprintf(p.out, "waits: %s, with a code until %s\n", chat.Sanitize(w.String()), w.Expires.Local().Format("15:04"))
	}
	return nil
}

func (p *program) printListed(t *tabwriter.Writer, kind string, list []access.Listed) {
	for _, who := range list {
		by := "allow, " + who.At.Local().Format("2006-01-02")
		if who.Config {
			by = "config.toml"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", kind, who.ID, dash(chat.Sanitize(who.Name)), cmp.Or(p.roomFor(who), p.settings.Telegram.Room, defaultRoom), by)
	}
}

// printTopics prints the topics of chats that have a room of their own.
func (p *program) printTopics(t *tabwriter.Writer, list []access.Listed) {
	for _, r := range p.settings.Telegram.config().Routes {
		if r.Topic > 1 && slices.ContainsFunc(list, func(l access.Listed) bool { return l.ID == r.Chat }) {
			fmt.Fprintf(t, "topic %d\t%s\t-\t%s\tconfig.toml\n", r.Topic, r.Chat, r.Room)
		}
	}
}

// roomFor is the room that a chat is connected with by name; the configuration
// wins over what was said with the approval.
func (p *program) roomFor(who access.Listed) string {
	for _, r := range p.settings.Telegram.Routes {
		if r.Chat == who.ID && r.Topic <= 1 { // General is the chat itself
			return r.Room
		}
	}
	return who.Room
}
