package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"lethe/agent/home"
	"lethe/agent/host"
)

// runCommand runs identities, and bridges beside them, until it is told to stop.
func (p *program) runCommand(c call) error {
	p.unhurried()
	ids, err := p.named(c.args)
	if err != nil {
		return err
	}
	bridges, err := p.children(c.list("with"))
	if err != nil {
		return err
	}
	var ready sync.Map // an identity can be opened again
	o := p.hostOptions(p.logTo(p.err))
	o.Retry = map[string]chan os.Signal{}
	o.Ready = func(id home.Identity) {
		child, _ := id.Child() // the parent has asked for it, and waits for no such line
		if _, again := ready.LoadOrStore(id.Self, true); !again && child == nil {
			p.event("ready", id)
		}
	}
	o.Standby = p.settings.Share.Standby && !c.is("started")
	all := func(f func(context.Context) error) error {
		return p.beside(c, bridges, func(ctx context.Context) error { return host.Keep(ctx, p.home, o, f) })
	}
	if len(ids) == 0 && c.is("started") {
		return all(func(context.Context) error { return nil })
	}
	h, err := host.New(p.home, p.settings.Settings, o)
	if err != nil {
		return err
	}
	named := p.runs.name+p.runs.soul != "" || p.runs.fresh
	if len(ids) == 0 && (named || !o.Standby) {
		id, _, err := p.identity(h)
		if err != nil {
			return err
		}
		ids = []home.Identity{id}
	}
	for _, id := range ids { // which are not opened yet
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		o.Retry[id.Self] = hup
	}
	return all(func(ctx context.Context) error { return h.Run(ctx, ids) })
}

// named finds the identities of a command line, each once.
func (p *program) named(who []string) ([]home.Identity, error) {
	if len(who) > 0 && (p.runs.name != "" || p.runs.soul != "") {
		return nil, usagef("--name and --soul are for one identity; leave them out to run %s", who[0])
	}
	var ids []home.Identity
	for _, name := range who {
		id, err := p.find(name)
		if errors.Is(err, home.ErrNotFound) {
			if !home.ValidName(name) {
				name = "NAME"
			}
			err = hint(err, "%s; boot a new one with: %s", p.hintOf(err), p.howToRun(home.Identity{}, " --name "+name))
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// runFlags say which identity runs, and how.
type runFlags struct {
	host.Options
	name, soul string
	fresh      bool // --new
}
