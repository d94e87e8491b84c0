package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/bridge/access"
	"lethe/bridge/telegram"
)

// policy is the bridge's list of who may speak.
func (app *app) policy() *access.Policy {
	return &access.Policy{
		Dir: app.bridgeDir(), Members: app.settings.Telegram.Members, Names: app.reservedNames,
		People: app.settings.Deciders(),
	}
}

func (app *app) bridgeDir() string { return filepath.Join(app.home.Dir, "bridges", telegram.Name) }

// reservedNames are the names that nobody on the other side may sign with: yours, and the identities'.
func (app *app) reservedNames() []string {
	names := []string{app.settings.UserName()}
	all, _ := app.home.List()
	for _, id := range all {
		names = append(names, id.Name)
	}
	return names
}

// boundTo is the room of a chat that was allowed with this one, which may be empty.
func (s settings) boundTo(room string) string {
	return cmp.Or(room, s.Telegram.Room, config.DefaultRoom)
}

// telegramAllowOptions are the flags of lethe bridge telegram allow.
type telegramAllowOptions struct {
	room string
}

func newTelegramAllowCommand(app *app) *cobra.Command {
	var options telegramAllowOptions
	cmd := &cobra.Command{
		Use:   "allow ID [NAME]",
		Short: "Let the person or group with this id speak",
		Long: `Allow lists a person, or a group, whose id is a negative number: allow -- -1001234, with
a point and the topic behind it for a topic that is to have a room of its own. The bridge
tells strangers their id when they write to it; /id does, too. NAME signs the lines of a
person; without it, the name that Telegram shows does. Given again, it takes the place of
what was given before. The bridge need not be restarted.`,
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runTelegramAllow(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.room, "room", "", "the `ROOM` to connect the chat with (default: telegram.room, or dev)")
	return cmd
}

func runTelegramAllow(app *app, options telegramAllowOptions, args []string) error {
	if err := checkRooms(cmp.Or(options.room, config.DefaultRoom)); err != nil {
		return err
	}
	id := args[0]
	if err := telegram.CheckID(id); err != nil {
		return usageError(err)
	}
	if _, err := app.store(); err != nil {
		return err
	}
	isGroup := strings.HasPrefix(id, "-")
	who, err := app.policy().Allow(strings.Join(args, " "), options.room, isGroup)
	if err != nil {
		return err
	}
	room := app.settings.boundTo(options.room)
	return app.print(map[string]string{"allowed": who.ID, "name": who.Name, "room": room},
		"allowed: %s may write to room %s\n", who.ID, room)
}

func newTelegramRevokeCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back what allow gave, by the id of the user or group",
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runTelegramRevoke(app, args)
		}),
	}
}

func runTelegramRevoke(app *app, args []string) error {
	if _, err := app.store(); err != nil {
		return err
	}
	if err := app.policy().Revoke(args[0]); err != nil {
		return err
	}
	return app.print(map[string]string{"revoked": args[0]}, "revoked: %s may not write any more\n", args[0])
}

func newTelegramWhoCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "who",
		Short: "Print who may speak, and where their lines go",
		RunE: app.withHome(func(context.Context, []string) error {
			return runTelegramWho(app)
		}),
	}
}

func runTelegramWho(app *app) error {
	rules, err := app.policy().Rules()
	if err != nil {
		return err
	}
	return app.show(rules, func(out io.Writer) { writeRules(out, app, rules) })
}

func writeRules(out io.Writer, app *app, rules access.Rules) {
	if len(rules.Users)+len(rules.Chats) == 0 {
		fmt.Fprintf(out, "nobody may write. A person who writes to it is told an id; allow it with: %s\n",
			app.lethe("bridge telegram allow ID"))
		return
	}
	rows := newTable("MAY WRITE", "ID", "NAME", "ROOM", "SINCE")
	list := func(kind string, people []access.Person) {
		for _, who := range people {
			rows.row(kind, who.ID, who.Name, app.settings.boundTo(who.Room), fmt.Sprintf("%.10s", clock(who.At)))
		}
	}
	list("user", rules.Users)
	list("chat", rules.Chats)
	rows.write(out)
	members := "everyone in it"
	if rules.Members == access.MembersListed {
		members = "of its members only the users above"
	}
	fmt.Fprintf(out, "may speak in private: the users above; in a chat above: %s; anywhere else: nobody\n", members)
}
