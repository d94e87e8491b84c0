package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lethe/bridge/access"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newTelegramWhoCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "who",
		Short: "Print who may speak, and where their lines go",
		RunE: app.WithHome(func(context.Context, []string) error {
			return runTelegramWho(app)
		}),
	}
}

func runTelegramWho(app *cli.App) error {
	policy := app.Policy()
	if err := policy.Refresh(); err != nil {
		app.Note("this is who was allowed as this host knows it: %v", err)
	}
	rules, err := policy.Rules()
	if err != nil {
		return err
	}
	return app.Show(rules, func(out io.Writer) { writeRules(out, app, rules) })
}

func writeRules(out io.Writer, app *cli.App, rules access.Rules) {
	if len(rules.Users)+len(rules.Chats) == 0 {
		fmt.Fprintf(out, "nobody may write. A person who writes to it is told an id; allow it with: %s\n",
			app.Lethe("bridge telegram allow ID"))
		return
	}
	rows := console.NewTable("MAY WRITE", "ID", "NAME", "ROOM", "SINCE")
	list := func(kind string, people []access.Person) {
		for _, who := range people {
			day := fmt.Sprintf("%.10s", console.Clock(who.At))
			rows.Row(kind, who.ID, who.Name, bot.Room(app.Settings.Telegram, who.Room), day)
		}
	}
	list("user", rules.Users)
	list("chat", rules.Chats)
	rows.Write(out)
	members := "everyone in it"
	if rules.Members == access.MembersListed {
		members = "of its members only the users above"
	}
	fmt.Fprintf(out, "may speak in private: the users above; in a chat above: %s; anywhere else: nobody\n", members)
}
