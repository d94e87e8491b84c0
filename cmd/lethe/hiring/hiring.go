// Package hiring is lethe hire and lethe fire: lives for roles, each with its own people.
package hiring

import (
	"context"
	"fmt"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// Options are the flags of lethe hire.
type Options struct {
	For []string // the names of people
	As  string   // the name of the identity; "" is made of the role and the people
}

// Look returns a host that hires.
func Look(app *cli.App) (*host.Host, error) {
	return host.Look(app.Home, app.Settings.Settings, app.HostOptions(app.LogTo(app.Err)))
}

// Hire hires an identity for a role, and prints its name and room.
func Hire(app *cli.App, options Options, role string) error {
	if len(options.For) == 0 {
		return exit.Usagef("for whom? Name who may read its room, with --for")
	}
	here, err := Look(app)
	if err != nil {
		return err
	}
	id, err := here.Hire(options.As, "", home.Hired{Role: role, For: options.For})
	if err != nil {
		return fmt.Errorf("hire %s: %w", role, err)
	}
	if !app.Home.Kept() {
		app.Note("run it, and all that are hired, with: %s", app.Lethe("run --started"))
	}
	room := host.RoomOf(id)
	made := console.Object{"name": id.Name, "self": id.Self, "room": room}
	return app.Print(made, "hired %s %s in room %s\n", id.Self, id.Name, room)
}

// Fire ends the work of a hired identity, and waits until it has stopped.
func Fire(ctx context.Context, app *cli.App, id home.Identity) error {
	hired, err := id.Hired()
	if err != nil {
		return err
	}
	if hired == nil {
		return fmt.Errorf("fire %s: nobody has hired it: %w", id.Name, home.ErrNotFound)
	}
	if _, err := report.Stop(ctx, id); err != nil {
		return err
	}
	return app.Print(console.Object{"fired": id.Name}, "fired %s\n", id.Name)
}
