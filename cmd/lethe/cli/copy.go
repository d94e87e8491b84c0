package cli

import (
	"context"
	"errors"
	"time"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/console"
	"lethe/life"
)

// FindToRead is Find for a command that only reads. If another host has the life and it is not on this disk, app.Look
// reads a copy from then on, and a note says so.
func (app *App) FindToRead(ctx context.Context, who string) (home.Identity, error) {
	if app.copies != nil {
		app.Look = app.here
	}
	id, err := app.findAnew(ctx, who)
	elsewhere, is := errors.AsType[*home.ElsewhereError](err)
	if !is {
		return id, err
	}
	return app.readCopy(ctx, elsewhere)
}

// ReadAt returns the state of an identity at a moment, as FindToRead finds it.
func (app *App) ReadAt(ctx context.Context, who, moment string) (then home.Then, err error) {
	when, err := report.ParseMoment(moment, time.Now())
	if err != nil {
		return then, err
	}
	id, err := app.FindToRead(ctx, who)
	if err != nil {
		return then, err
	}
	return home.At(id, app.Look.Store, when)
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
