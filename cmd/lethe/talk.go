package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lethe/agent"
	"lethe/bridge/stdin"
	"lethe/host"
)

// converse is lethe without a command: attach to the default identity, or run it
// as long as the chat lasts.
func (p *program) converse(ctx context.Context, c stdin.Config) error {
	id, err := p.find(p.runs.name)
	if p.runs.name != "" && id.Name != p.runs.name { // not there, or found by the beginning of its hash
		id = agent.Identity{}
	}
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	if _, running := agent.Running(id); id.Self == "" || !running {
		return p.inside(ctx, id, c)
	}
	if p.runs.given() {
		return hint(usagef("%s is running already, so flags for running it do nothing", id.Name), "leave them out, or stop it first: %s", p.lethe("stop %s", id.Name))
	}
	c.Room, c.Self = p.roomOf(id), id.Self
	return p.bridge(ctx, c)
}

// inside runs the identity in this process, and the chat beside it.
func (p *program) inside(ctx context.Context, id agent.Identity, c stdin.Config) error {
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	o := p.hostOptions(p.logTo(logs))
	o.Rehearse = !p.livedOnline(id)
	if p.interactive() {
		o.Tell = p.teller(logs) // the screen is taken
	}
	ready := make(chan struct{})
	hears := sync.OnceFunc(func() { close(ready) })
	o.Ready = func(ready agent.Identity) {
		if ready.Self == id.Self {
			hears()
		}
	}
	h, err := p.newHost(o)
	if err != nil {
		return err
	}
	id, fresh, err := p.identity(h)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lived := make(chan error, 1)
	go func() { lived <- h.Run(ctx, []agent.Identity{id}) }() // ends with ctx; waited for below
	select {
	case err := <-lived:
		return err
	case <-ready:
	}
	c.Room, c.Self, c.Banner = p.roomOf(id), id.Self, banner(h, id, fresh)
	talked := p.bridge(ctx, c)
	cancel()
	err = errors.Join(talked, <-lived)
	if err == nil && p.interactive() && !c.Once {
		fmt.Fprintf(p.out, "%s has stopped; everything is saved. Continue with: %s\n", id.Name, p.lethe("--name %s%s", id.Name, p.rerun))
	}
	return err
}

// livedOnline reports whether an identity has used a real model: the offline one
// must not speak in its name unasked.
func (p *program) livedOnline(id agent.Identity) bool {
	store, err := p.store()
	return err == nil && host.LivedOnline(id, store)
}

func banner(h *host.Host, id agent.Identity, fresh bool) string {
	what := "resumed"
	if fresh {
		what = "booted"
	}
	with := "Its model is at " + h.Endpoint
	if h.Offline {
		with = "Its model is the offline rehearsal model, which is not intelligent; set DEEPSEEK_API_KEY for a real one. Say help to see what it understands"
	}
	return fmt.Sprintf("%s %s (%.16s). %s.", what, id.Name, id.Self, with)
}
