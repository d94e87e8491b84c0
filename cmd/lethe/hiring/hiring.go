// Package hiring is lethe hire and lethe fire: lives for roles, each with its own people.
package hiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/listen"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/cmd/lethe/adopting"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/mind"
	"lethe/mind/audience"
)

// Options are the flags of lethe hire.
type Options struct {
	For []string // the names of people; of a split, whose chats alone are meant
	As  string   // the name of the identity; "" is made of the role and the people

	Split string // the identity whose chats get lives of their own
	Yes   bool   // they get them; else they are shown
}

// Look returns a host that hires.
func Look(app *cli.App) (*host.Host, error) {
	return host.Look(app.Home, app.Settings.Settings, app.HostOptions(app.LogTo(app.Err)))
}

// Run hires an identity for a role, and prints its name and room; or splits one.
func Run(ctx context.Context, app *cli.App, options Options, role string) error {
	here, err := Look(app)
	if err != nil {
		return err
	}
	if options.Split != "" {
		return split(ctx, app, here, options, cmp.Or(role, options.Split))
	}
	if len(options.For) == 0 {
		return exit.Usagef("for whom? Name who may read its room, with --for")
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

// split shows the lives that the rooms of an identity would get, and their past, or hires them: then it hears these rooms
// no longer. Open rooms, and those of its owners, stay. It goes on where an earlier one was cut short.
func split(ctx context.Context, app *cli.App, here *host.Host, options Options, role string) error {
	old, err := app.Find(options.Split)
	if err != nil {
		return err
	}
	rooms, err := chats(app, old, options)
	if err != nil {
		return err
	}
	known, err := config.ReadRole(app.Home, role)
	if err != nil {
		return err
	}
	if options.Yes && app.Home.Kept() { // else both could answer
		return exit.Usagef("stop all of lethe run before")
	}
	for _, room := range rooms {
		work := home.Hired{Role: role, For: app.Home.Readers(room)}
		app.Note("%s: %s, up to %g USD a day", room, work, known.Day)
		past := []string{"room=" + app.Home.Room(room)}
		if !options.Yes {
			if err := adopting.Look(ctx, app, adopting.Options{DryRun: true}, past); err != nil {
				return err
			}
			continue
		}
		id, err := here.Hire(options.As, room, work)
		if err == nil || errors.Is(err, host.ErrHired) {
			id, err = app.Home.Find(id.Name)
		}
		if err == nil { // it hears the rest itself
			err = adopting.Run(ctx, app, adopting.Options{As: id.Name, But: listen.FirstHeard}, past)
		}
		if err == nil {
			err = chat.Move(old.Subs(), id.Subs(), room)
		}
		if err != nil {
			return fmt.Errorf("hire %s: %w", work, err)
		}
	}
	return nil
}

// chats are the rooms of an identity that get lives of their own. Others stay: open ones, those of its owners or of others
// than the flags name, and those where a question is open, which a new life could not hear answered.
func chats(app *cli.App, old home.Identity, options Options) (list []string, err error) {
	rooms, err := chat.Rooms(old.Subs())
	if err != nil {
		return nil, err
	}
	state, err := home.Fold(old, app.Look.Store)
	if err != nil {
		return nil, err
	}
	for _, room := range rooms {
		readers := app.Home.Readers(room)
		isOther := len(options.For) > 0 && !audience.Same(options.For, readers)
		asked := slices.IndexFunc(state.Questions, func(q mind.Question) bool { return q.Room == room })
		switch {
		case readers.Open() && !options.Yes:
			app.Note("%s stays: all may read it. First write readers = [\"WHO\"] into %s", room,
				chat.AboutPath(app.Home.Dir, room))
		case readers.Open(), isOther, audience.Readers(app.Settings.Deciders()).MayRead(readers):
		case asked >= 0:
			app.Note("%s stays: first answer %s of %s there", room, state.Questions[asked].ID, old.Name)
		default:
			list = append(list, room)
		}
	}
	return list, nil
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
