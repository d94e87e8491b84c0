package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// rmOptions are the flags of lethe rm.
type rmOptions struct {
	room string
	yes  bool
}

func newRmCommand(app *cli.App) *cobra.Command {
	var options rmOptions
	cmd := &cobra.Command{
		Use:        "rm [NAME]",
		SuggestFor: []string{"delete", "remove"},
		Short:      "Remove an identity that does not run, or a room, after asking",
		Long: `Rm removes an identity: its log, memory, workspace and name, and its children with theirs.
What it said stays in the rooms, and what it read and wrote in the stored texts, which
others may share; lethe gc moves those that nobody needs out of the way. To take words out
of all of that, lethe erase comes first. Only an archive, by lethe export, brings it back.

With --room it removes a room and its lines. What identities have heard of them stays with
them, and these may run.`,
		Example: `  lethe rm ada
  lethe rm --room standup --yes`,
		Args: cli.MaximumArgs(1),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runRm(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.room, "room", "", "remove this `ROOM`")
	flags.BoolVar(&options.yes, "yes", false, "do not ask")
	return cmd
}

// runRm removes an identity or a room.
func runRm(app *cli.App, options rmOptions, args []string) error {
	name := cli.Argument(args, 0)
	if (name == "") == (options.room == "") {
		return exit.Usagef("name an identity to remove, or a room with --room")
	}
	if options.room != "" {
		return removeRoom(app, options.room, options.yes)
	}
	id, err := app.Find(name)
	if err != nil {
		return err
	}
	family, err := app.Home.Family(app.Look.Store, id)
	if err != nil {
		return err
	}
	if err := app.Confirm(options.yes, identityLoss(app, id, family), "Remove "+id.Name); err != nil {
		return err
	}
	if err := app.Home.Remove(app.Look.Store, id); err != nil {
		return err
	}
	return app.Print(console.Object{"removed": id.Name}, "removed %s\n", id.Name)
}

func removeRoom(app *cli.App, room string, yes bool) error {
	loss := fmt.Sprintf("Room %s goes, with all its lines.", room)
	if hearers := app.Look.Hearers(room); len(hearers) > 0 {
		loss += " These hear it no more, and keep what they heard:"
		for _, id := range hearers {
			loss += " " + id.Name
		}
		loss += "."
	}
	loss += "\nA bridge that writes there makes a new room.\n"
	name := "room " + room
	if err := app.Confirm(yes, loss, "Remove "+name); err != nil {
		return err
	}
	if err := app.Home.RemoveRoom(room); err != nil {
		return exit.Hint(err, "%s%s lists them", app.NearestRoom(room), app.Lethe("rooms"))
	}
	return app.Print(console.Object{"removed": name}, "removed %s\n", name)
}

// identityLoss lists the losses with an identity, which is the first of its family, and all that stays.
func identityLoss(app *cli.App, id home.Identity, family []home.Identity) string {
	names := id.Name
	if len(family) > 1 {
		var children []string
		for _, child := range family[1:] {
			children = append(children, child.Name)
		}
		names += ", with its children " + strings.Join(children, ", ")
	}
	loss := names + " goes: log, memory, workspace, index, and the name.\n"
	if app.Settings.DefaultIdentity == id.Name {
		loss += "It is default_identity in config.toml, which stays as it is.\n"
	}
	loss += "What it said stays in rooms, and what it read and wrote in stored texts, which others may share. " +
		"So do archives of it.\n"
	loss += fmt.Sprintf("To take words out of these for good, do that first: %s\n", app.Lethe("erase %s -", id.Name))
	loss += fmt.Sprintf("To keep the life elsewhere, first: %s\n", app.Lethe("export %s", id.Name))
	return loss
}
