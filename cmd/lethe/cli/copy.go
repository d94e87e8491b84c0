package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/console"
	"lethe/life"
)

// copies is a home for copies of lives that other hosts have, as the store has them. It is gone when the command ends,
// so that no erasure has to find it.
type copies struct {
	home  home.Home
	store *blobs.Store
	here  report.Home // app.Look of the home itself
}

// FindToRead is Find for a command that only reads. If another host has the life and it is not on this disk, app.Look
// reads a copy from then on, and a note says so.
func (app *App) FindToRead(ctx context.Context, who string) (home.Identity, error) {
	if app.copies != nil {
		app.Look = app.copies.here
	}
	id, err := app.Find(who)
	if errors.Is(err, home.ErrNotFound) && app.Shared != nil {
		app.Refresh(ctx)
		id, err = app.Find(who)
	}
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
	if app.copies == nil {
		if app.copies, err = makeCopies(app.Look); err != nil {
			return id, err
		}
	}
	id, at, err := app.Shared.Copy(ctx, app.copies.home, app.copies.store, elsewhere.Identity)
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
	app.Look.Home, app.Look.Store = app.copies.home, app.copies.store
	return id, nil
}

func makeCopies(here report.Home) (*copies, error) {
	dir, err := os.MkdirTemp("", "lethe-copy-")
	if err != nil {
		return nil, err
	}
	made := &copies{here: here, home: home.Home{Dir: dir}}
	if made.home, err = home.Open(dir); err == nil {
		made.store, err = blobs.Open(made.home.Blobs())
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return made, nil
}

// dropCopies removes what readCopy has copied.
func (app *App) dropCopies() error {
	if app.copies == nil {
		return nil
	}
	dir := app.copies.home.Dir
	app.Look, app.copies = app.copies.here, nil
	return os.RemoveAll(dir)
}
