package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/chat"
	"lethe/cmd/lethe/exit"
)

// Copies returns the home with copies of lives that other hosts have which are kept up to date, or nil.
func (app *App) Copies() *host.Copies {
	if app.copies == nil || len(app.copies.Begun()) == 0 {
		return nil
	}
	return app.copies
}

// besideCopies copies lives that other hosts have, and runs f while they are kept up to date, and so are the rooms. Lives
// that cannot be copied are told of.
func (app *App) besideCopies(
	ctx context.Context, lives []home.Identity, f func(context.Context, *host.Host) error,
) (err error) {
	if err := app.makeCopies(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.dropCopies()) }()
	if err := app.copies.Begin(ctx, lives); err != nil && len(app.copies.Begun()) == 0 {
		return err
	} else if err != nil {
		app.Warn("%v", err)
	}
	return app.BesideHosts(ctx, false, func(ctx context.Context) error {
		watcher := chat.NewWatcher(0, app.LogTo(app.Err))
		return BesideWatcher(ctx, watcher, func(ctx context.Context) error {
			keeping, end := context.WithCancel(ctx)
			kept := make(chan struct{})
			go func() { // ends with f
				app.copies.Keep(keeping)
				close(kept)
			}()
			err := f(ctx, app.copies.Beside(watcher))
			end()
			<-kept
			return err
		})
	})
}

// talkAfar runs f with an identity that another host has and runs.
func (app *App) talkAfar(ctx context.Context, id home.Identity, f Conversation) error {
	return app.besideCopies(ctx, []home.Identity{id}, func(ctx context.Context, there *host.Host) error {
		identity := there.Of(app.copies.Begun()[0])
		if where, runs := app.copies.Where(identity.Identity); !runs {
			return where
		}
		if err := app.refuseFlags(id); err != nil {
			return err
		}
		return f(ctx, identity, "")
	})
}

// refuseFlags refuses flags for running an identity that runs.
func (app *App) refuseFlags(id home.Identity) error {
	if app.Runs.Again()+app.Runs.Soul+app.Runs.Model == "" {
		return nil
	}
	return exit.Hint(exit.Usagef("%s is running already, so flags for running it do nothing", id.Name),
		"leave them out, or stop it first: %s", app.Lethe("stop %s", id.Name))
}

// BesideHearers runs f with the identities that hear a room and run, here or at other hosts.
func (app *App) BesideHearers(
	ctx context.Context, room string, f func(context.Context, []*host.Identity) error,
) error {
	app.Look.AwaitListener(ctx, room)
	here := slices.DeleteFunc(app.Look.Hearers(room), func(id home.Identity) bool {
		_, running := home.Running(id)
		return !running
	})
	nobody := fmt.Errorf("wait for an answer: nobody is listening in room %s", room)
	nobody = exit.Hint(nobody, "%sstart one with: %s", app.NearestRoom(room), app.HowToHear(room))
	lives := app.afar(ctx, room)
	switch {
	case len(lives) == 0 && len(here) == 0:
		return nobody
	case len(lives) == 0:
		return app.Attached(here, func(all []*host.Identity) error { return f(ctx, all) })
	}
	return app.besideCopies(ctx, lives, func(ctx context.Context, there *host.Host) error {
		var afar []*host.Identity
		for _, id := range app.copies.Begun() {
			identity := there.Of(id)
			if !identity.Hears(room) {
				continue
			}
			where, runs := app.copies.Where(id)
			if runs {
				afar = append(afar, identity)
			} else {
				nobody = fmt.Errorf("wait for an answer: nobody is listening in room %s: %w", room, where)
			}
		}
		if len(here)+len(afar) == 0 {
			return nobody
		}
		return app.Attached(here, func(all []*host.Identity) error { return f(ctx, append(all, afar...)) })
	})
}

// BesideRoom runs f while the lives of other hosts that may hear a room are copied and kept up to date.
func (app *App) BesideRoom(ctx context.Context, room string, f func(context.Context) error) error {
	lives := app.afar(ctx, room)
	if app.Copies() != nil || len(lives) == 0 {
		return app.BesideHosts(ctx, false, f)
	}
	return app.besideCopies(ctx, lives, func(ctx context.Context, _ *host.Host) error { return f(ctx) })
}

// afar lists the lives of other hosts that may hear a room: children hear rooms for work alone.
func (app *App) afar(ctx context.Context, room string) (all []home.Identity) {
	if app.Shared == nil {
		return nil
	}
	app.Refresh(ctx)
	if !chat.ForWork(room) {
		return app.grownElsewhere()
	}
	for _, elsewhere := range app.Shared.Elsewhere() {
		all = append(all, elsewhere.Identity)
	}
	return all
}
