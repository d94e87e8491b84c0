package cli

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/chat"
	"lethe/cmd/lethe/exit"
)

// Others returns the hosts of the home, and fails where it is on one host alone.
func (app *App) Others() (*hosts.Cluster, error) {
	if app.Shared == nil {
		err := exit.Usagef("this home is on one host alone")
		return nil, exit.Hint(err, "[share] url in %s says where it is shared; docs/machines.md", config.File(app.Home.Dir))
	}
	return app.Shared, nil
}

// BesideHosts runs f, and meanwhile shares the rooms with other hosts, if there are any and no daemon here does so. If
// attends is set, it tells others that this host is there, and ends when the host is drained.
func (app *App) BesideHosts(ctx context.Context, attends bool, f func(context.Context) error) error {
	if app.Shared == nil {
		return f(ctx)
	}
	watcher := chat.NewWatcher(0, app.LogTo(app.Err))
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: app.Home.Chats()})
	defer cancel()
	return BesideWatcher(ctx, watcher, func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { // ends with ctx
			err := app.Shared.Follow(ctx, changed, attends)
			if errors.Is(err, hosts.ErrDrained) {
				app.Note("%v", err)
				end()
				err = nil
			}
			done <- err
		}()
		err := f(ctx)
		end()
		return errors.Join(err, <-done)
	})
}

// IsElsewhere returns a *home.ElsewhereError if a life that is on this disk goes on at another host or in another home.
func (app *App) IsElsewhere(ctx context.Context, id home.Identity) error {
	app.Refresh(ctx)
	if elsewhere := app.knownElsewhere(id); elsewhere != nil {
		return elsewhere
	}
	state, err := home.Fold(id, app.Look.Store)
	if err != nil {
		return err
	}
	return id.Elsewhere(state)
}

// Elsewhere returns a life that another host has, or nil.
func (app *App) Elsewhere() *home.ElsewhereError {
	if app.Shared == nil {
		return nil
	}
	for _, elsewhere := range app.Shared.Elsewhere() {
		return elsewhere
	}
	return nil
}

// grownElsewhere lists the identities that other hosts have, and that are no children.
func (app *App) grownElsewhere() (all []home.Identity) {
	lives, _ := app.Shared.Lives() // Find tells of an error
	for _, life := range lives {
		id := app.Home.Identity(life.Self, life.Name)
		if life.Parent == "" && app.knownElsewhere(id) != nil {
			all = append(all, id)
		}
	}
	return all
}

// knownElsewhere returns where a life that is on this disk goes on, if another host has it, as this one was told last.
func (app *App) knownElsewhere(id home.Identity) *home.ElsewhereError {
	if app.Shared == nil {
		return nil
	}
	for _, elsewhere := range app.Shared.Elsewhere() {
		if elsewhere.Identity.Self == id.Self {
			return elsewhere
		}
	}
	return nil
}

// Refresh fetches new lines of other hosts, if there are any.
func (app *App) Refresh(ctx context.Context) {
	if app.Shared == nil {
		return
	}
	if err := app.Shared.Refresh(ctx); err != nil {
		app.Note("what is said here waits, and what other hosts have said is missing: %v", err)
	}
}

// BesideWatcher runs f, and a watcher as long as it lasts.
func BesideWatcher(ctx context.Context, watcher *chat.Watcher, f func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	watching, end := context.WithCancel(ctx)
	group.Go(func() error { return watcher.Run(watching) })
	group.Go(func() error {
		defer end()
		return f(ctx)
	})
	return group.Wait()
}
