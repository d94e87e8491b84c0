package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

func newRoomsCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "rooms [ROOM]",
		Short: "List rooms: lines, who hears them, what wakes whom, and the last line",
		Long: `The room that changed last comes first. An identity that hears a room is woken by each line there that is not its own,
or "by @NAME", as wake in config.toml says: docs/rooms.md. In the room of a child its parent is woken "by results".`,
		Example: `  lethe rooms
  lethe rooms dev --json`,
		Args: cli.MaximumArgs(1),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runRooms(app, args)
		}),
	}
}

// runRooms shows the rooms, or the one of a name.
func runRooms(app *cli.App, args []string) error {
	name := cli.Argument(args, 0)
	all, err := app.Look.Rooms()
	if err != nil {
		return err
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(room report.Room) bool { return room.Name != name })
		if len(all) == 0 {
			err := fmt.Errorf("find room %s: %w", name, home.ErrNotFound)
			return exit.Hint(err, "%s lists them", app.Lethe("rooms"))
		}
	}
	for i, room := range all {
		if _, all[i].Lines, _, err = chat.Tail(chat.Path(app.Home.Dir, room.Name), 0); err != nil {
			return err
		}
	}
	return app.Show(all, func(out io.Writer) { writeRooms(out, app, all) })
}

func writeRooms(out io.Writer, app *cli.App, all []report.Room) {
	if len(all) == 0 {
		fmt.Fprintf(out, "no rooms yet; the first line makes one: %s\n", app.Lethe("say ROOM TEXT"))
		return
	}
	rows := console.NewTable("ROOM", "LINES", "HEARD BY", "CHANGED", "LAST")
	for _, room := range all {
		name := room.Name
		if room.Title != "" {
			name += fmt.Sprintf(" “%.40s”", room.Title)
		}
		if room.Archived {
			name += " (put away)"
		}
		last := ""
		if room.Last != nil {
			last = blobs.Gist(room.Last.Name + ": " + room.Last.Text)
		}
		rows.Row(name, room.Lines, heardBy(room), room.At, last)
	}
	rows.Write(out)
}

// heardBy names the identities that hear a room, and the lines that wake them, if not all do.
func heardBy(room report.Room) string {
	var heard []string
	for _, name := range room.Heard {
		switch room.Wakes[name] {
		case "mentions":
			name = fmt.Sprintf("%s (by @%s)", name, name)
		case "results":
			name += " (by results)"
		}
		heard = append(heard, name)
	}
	return strings.Join(heard, ", ")
}
