package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// forkOptions are the flags of lethe fork.
type forkOptions struct {
	at   string
	name string
	room []string
}

func newForkCommand(app *cli.App) *cobra.Command {
	var options forkOptions
	cmd := &cobra.Command{
		Use:   "fork NAME",
		Short: "Boot a new identity with the mind that another one had at a moment",
		Long: `Fork boots a new identity that remembers what another one remembered at a moment: its context,
and all that had faded. It hears no room unless one is named, and owes nothing. The other one is
not touched and may run.

A MOMENT is now, an entry (e39: when it was complete), "epoch 4" (when it began), a label, or
a time: 2026-11-20T12:57:16Z, "2026-11-20 12:57", 2026-11-20, "2h ago".`,
		Example: `  lethe fork ada --at e39 --name bea --room lab
  lethe fork ada --at "2h ago"`,
		Args: cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runFork(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.at, "at", "now", "the `MOMENT` of its life")
	flags.StringVar(&options.name, "name", "", "`NAME` of the new identity (default: NAME-2, or the next that is free)")
	flags.StringArrayVar(&options.room, "room", nil, "a `ROOM` that it hears; may be given again")
	return cmd
}

func runFork(ctx context.Context, app *cli.App, options forkOptions, args []string) error {
	id, then, err := app.IdentityAt(ctx, app.FindToRead, args[0], options.at)
	if err != nil {
		return err
	}
	if err := cli.CheckRooms(options.room...); err != nil {
		return err
	}
	name := cmp.Or(options.name, freeName(app, id))
	if err := cli.CheckName(name); err != nil {
		return err
	}
	if err := app.Lend(id, then.End); err != nil {
		return err
	}
	boot := home.BootOptions{Name: name, Rooms: options.room}
	fork, today, err := home.Fork(app.Home, app.Look.Store, id, then, boot)
	if errors.Is(err, home.ErrExists) {
		return exit.Hint(err, "name it otherwise with --name")
	}
	if err != nil {
		return err
	}
	if !app.JSON {
		if len(today) > 0 {
			app.Note("%s: as they are today; how they were at that moment is not known", strings.Join(today, ", "))
		}
		app.Note("run it with: %s", app.HowToRun(fork, ""))
	}
	made := console.Object{"name": fork.Name, "self": fork.Self, "of": id.Self, "today": today}
	return app.Print(made, "forked %s %s\n", fork.Self, fork.Name)
}

// freeName returns the first of ada-2, ada-3, … that names no identity.
func freeName(app *cli.App, id home.Identity) string {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%.28s-%d", id.Name, n)
		if _, err := os.Lstat(filepath.Join(app.Home.Names(), name)); err != nil {
			return name
		}
	}
}
