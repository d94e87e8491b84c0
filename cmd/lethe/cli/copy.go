package cli

import (
	"context"
	"errors"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/share"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/console"
	"lethe/life"
)

// FindToRead is Find for a command that only reads. If another host has the life, app.Look reads a copy from then on,
// and a note says so. While the store is away it reads what this host had of the life.
func (app *App) FindToRead(ctx context.Context, who string) (home.Identity, error) {
	if app.copies != nil {
		app.Look = app.here
	}
	id, err := app.findAnew(ctx, who)
	elsewhere, is := errors.AsType[*home.ElsewhereError](err)
	if is {
		return app.readCopy(ctx, elsewhere)
	}
	if elsewhere = app.movedOn(id); err != nil || elsewhere == nil {
		return id, err
	}
	copied, err := app.readCopy(ctx, elsewhere)
	if share.IsAway(err) {
		app.Note("this is as this host had it: %s goes on at %s", id.Name, elsewhere.Host)
		return id, nil
	}
	return copied, err
}

// FindToChange is Find for a command that changes a life, which this host has or runs.
func (app *App) FindToChange(_ context.Context, who string) (home.Identity, error) {
	id, err := app.Find(who)
	if elsewhere := app.movedOn(id); err == nil && elsewhere != nil {
		err = elsewhere
	}
	return id, err
}

// movedOn returns where a life goes on that is on this disk and does not run here; nil if that is here.
func (app *App) movedOn(id home.Identity) *home.ElsewhereError {
	if _, running := home.Running(id); running {
		return nil
	}
	return app.knownElsewhere(id)
}

// A finder is FindToRead or FindToChange.
type finder = func(ctx context.Context, who string) (home.Identity, error)

// IdentityAt returns an identity that find finds, and its state at a moment.
func (app *App) IdentityAt(
	ctx context.Context, find finder, who, moment string,
) (id home.Identity, then home.Then, err error) {
	when, err := report.ParseMoment(moment, time.Now())
	if err != nil {
		return id, then, err
	}
	id, err = find(ctx, who)
	if err != nil {
		return id, then, err
	}
	then, err = home.At(id, app.Look.Store, when)
	return id, then, err
}

// Lend has this home store what a life refers to up to an offset of its log, if that is a copy: a fork rests on it. From
// then on app.Look reads this home.
func (app *App) Lend(id home.Identity, end int64) error {
	if app.copies == nil {
		return nil
	}
	app.Look = app.here
	return app.copies.Lend(id, end, app.Look.Store)
}

// FindText returns a stored text of this home, or else of a life that another host has.
func (app *App) FindText(ctx context.Context, ref string) (blobs.Blob, error) {
	store, err := app.Store()
	if err != nil {
		return blobs.Blob{}, err
	}
	blob, err := store.Find(ref)
	if app.Shared == nil || !errors.Is(err, blobs.ErrNotFound) {
		return blob, err
	}
	for _, elsewhere := range app.Shared.Elsewhere() {
		if _, err := app.readCopy(ctx, elsewhere); err != nil {
			return blob, err
		}
		if found, err := app.Look.Store.Find(ref); !errors.Is(err, blobs.ErrNotFound) {
			return found, err
		}
	}
	return blob, err
}

// readCopy copies a life, and has app.Look read the copy.
func (app *App) readCopy(ctx context.Context, elsewhere *home.ElsewhereError) (id home.Identity, err error) {
	if err := app.makeCopies(); err != nil {
		return id, err
	}
	id, at, err := app.copies.Copy(ctx, elsewhere.Identity)
	if err != nil {
		return id, errors.Join(elsewhere, err)
	}
	log, err := life.View(id.LIFE())
	if err != nil {
		return id, id.Unread(err)
	}
	defer log.Close()
	newest := log.Last()
	app.Note("this is a copy: %s goes on at %s; its newest line is of %s",
		id.Name, at.Label, console.Ago(newest[len(newest)-1].At))
	app.Look.Home, app.Look.Store = app.copies.Home, app.copies.Store
	return id, nil
}

// ReadAfar copies all lives that other hosts have, and returns the copies. It notes which cannot be copied.
func (app *App) ReadAfar(ctx context.Context) (copies budget.Lives, all []home.Identity) {
	if app.Shared == nil {
		return copies, nil
	}
	app.Refresh(ctx)
	for _, elsewhere := range app.Shared.Elsewhere() {
		err := app.makeCopies()
		id := elsewhere.Identity
		if err == nil {
			id, _, err = app.copies.Copy(ctx, id)
		}
		if err != nil {
			app.Note("%s is left out, or is as this host had it: %v", id.Name, errors.Join(elsewhere, err))
			continue
		}
		copies.Home, copies.Store, all = app.copies.Home, app.copies.Store, append(all, id)
	}
	return copies, all
}

// makeCopies makes a home for copies of lives that other hosts have, unless there is one.
func (app *App) makeCopies() (err error) {
	if app.copies == nil {
		app.here = app.Look
		app.copies, err = host.NewCopies(app.Home, app.Shared)
	}
	return err
}

// dropCopies removes what makeCopies made.
func (app *App) dropCopies() error {
	if app.copies == nil {
		return nil
	}
	copies := app.copies
	app.Look, app.copies = app.here, nil
	return copies.Close()
}
