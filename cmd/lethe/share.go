package main

import (
	"context"
	"errors"

	"lethe/agent/config"
	"lethe/agent/share/hosts"
	"lethe/chat"
)

// others returns the hosts of the home, and fails where it is on one host alone.
func (app *app) others() (*hosts.Cluster, error) {
	if app.shared == nil {
		err := usagef("this home is on one host alone")
		return nil, hint(err, "[share] url in %s says where it is shared; docs/machines.md", config.File(app.home.Dir))
	}
	return app.shared, nil
}

// besideHosts runs f, and meanwhile shares the rooms with other hosts, if there are any and no daemon here does so. If
// attends is set, it tells others that this host is there, and ends when the host is drained.
func (app *app) besideHosts(ctx context.Context, attends bool, f func(context.Context) error) error {
	if app.shared == nil {
		return f(ctx)
	}
	watcher := chat.NewWatcher(0, app.logTo(app.err))
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: app.home.Chats()})
	defer cancel()
	return besideWatcher(ctx, watcher, func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { // ends with ctx
			err := app.shared.Follow(ctx, changed, attends)
			if errors.Is(err, hosts.ErrDrained) {
				app.note("%v", err)
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

// refresh fetches new lines of other hosts, if there are any.
func (app *app) refresh(ctx context.Context) {
	if app.shared == nil {
		return
	}
	if err := app.shared.Refresh(ctx); err != nil {
		app.note("what is said here waits, and what other hosts have said is missing: %v", err)
	}
}
