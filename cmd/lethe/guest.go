package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
)

// guest is an editor or agent that started this program to talk with identities. They run here unless another process
// runs them.
type guest struct {
	app *app
	log *slog.Logger

	mu   sync.Mutex
	host *host.Host // nil before the first talk
}

// serveGuest runs f, which talks with a guest on standard input and output. A person at a terminal gets the note.
func serveGuest(app *app, note string, f func(*guest) error) error {
	logs, err := app.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	if isTerminal(app.in) {
		app.note("%s", note)
	}
	guest := &guest{app: app, log: app.logTo(logs)}
	err = f(guest)
	if guest.host != nil {
		err = errors.Join(err, guest.host.Close())
	}
	return err
}

// talk returns an identity that runs. "" is the identity of the flags, which talk boots where there is none. The
// options of the first call hold for all.
func (g *guest) talk(ctx context.Context, who string, options host.Options) (*host.Identity, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	identity, err := g.resume(ctx, who, options)
	return identity, hint(err, "%s", g.app.hintOf(err))
}

func (g *guest) resume(ctx context.Context, who string, options host.Options) (*host.Identity, error) {
	find := func() (home.Identity, error) { return g.app.found(who) }
	if who == "" {
		find = g.app.meant
	}
	id, err := find()
	if err != nil {
		return nil, err
	}
	if err := g.open(options); err != nil {
		return nil, err
	}
	if who == "" {
		if id, _, err = g.app.identity(g.host); err != nil {
			return nil, err
		}
	}
	identity := g.host.Of(id)
	return identity, identity.Resume(ctx)
}

// open makes the host, if there is none yet. Where there is no key, the offline model speaks only if no identity has
// used another one.
func (g *guest) open(options host.Options) (err error) {
	if g.host != nil {
		return nil
	}
	all, _ := g.app.home.List()
	options.Rehearse = !slices.ContainsFunc(all, g.app.livedOnline)
	g.host, err = host.New(g.app.home, g.app.settings.Settings, options)
	if errors.Is(err, llm.ErrNoKey) && len(all) > 0 { // others may run with another key
		g.host, err = host.Look(g.app.home, g.app.settings.Settings, options)
	}
	return err
}
