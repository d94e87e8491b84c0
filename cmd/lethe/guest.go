package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"lethe/agent/host"
	"lethe/agent/llm"
)

// guest is a program of others that has started this one to talk with identities, which run here while nobody else
// runs them.
type guest struct {
	*program
	log *slog.Logger

	mu sync.Mutex
	h  *host.Host // nil before the first talk
}

// serveGuest has f talk with a guest on standard input and output. note tells a person who has started the program.
func (p *program) serveGuest(note string, f func(*guest) error) error {
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	if isTerminal(p.in) {
		p.note("%s", note)
	}
	g := &guest{program: p, log: p.logTo(logs)}
	err = f(g)
	if g.h != nil {
		err = errors.Join(err, g.h.Close())
	}
	return err
}

// talk returns an identity that runs. "" is the one that is meant by the flags, which is booted where there is none.
// The options are those of the first call. Where there is no key, the offline model speaks only if no identity has used
// another one.
func (g *guest) talk(ctx context.Context, who string, o host.Options) (i *host.Identity, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, err := g.found(who)
	if who == "" {
		id, err = g.meant()
	}
	if err == nil && g.h == nil {
		all, _ := g.home.List()
		o.Rehearse = !slices.ContainsFunc(all, g.livedOnline)
		g.h, err = host.New(g.home, g.settings.Settings, o)
		if errors.Is(err, llm.ErrNoKey) && len(all) > 0 { // others may run with another key
			g.h, err = host.Look(g.home, g.settings.Settings, o)
		}
	}
	if err == nil && who == "" {
		id, _, err = g.identity(g.h)
	}
	if err == nil {
		i = g.h.Of(id)
		err = i.Resume(ctx)
	}
	return i, hint(err, "%s", g.hintOf(err))
}
