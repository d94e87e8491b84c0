package main

import (
	"context"
	"errors"
	"fmt"

	"lethe/agent"
	"lethe/bridge/stdin"
	"lethe/host"
)

// converse is lethe without a command: attach to the default identity, or run it
// as long as the chat lasts.
func (p *program) converse(ctx context.Context) error {
	if p.runs.trace == "-" && p.interactive() {
		return usagef("--trace - would write into the chat; give a file")
	}
	id, err := p.meant()
	if err != nil {
		return err
	}
	if _, running := agent.Running(id); running {
		if p.runs.given() {
			return p.runsAlready(id)
		}
		return p.bridge(ctx, stdin.Config{Room: p.roomOf(id), Self: id.Self})
	}
	id, err = p.inside(ctx, id, func(i *host.Identity, banner string) error {
		return p.bridge(ctx, stdin.Config{Room: p.roomOf(i.Identity), Self: i.Self, Banner: banner})
	})
	if err == nil && p.interactive() {
		fmt.Fprintf(p.out, "%s has stopped; everything is saved. Continue with: %s\n", id.Name, p.lethe("--name %s%s", id.Name, p.rerun))
	}
	return err
}

// meant is the identity of --name, or the default one; the zero one is to be booted.
func (p *program) meant() (agent.Identity, error) {
	id, err := p.find(p.runs.name)
	if p.runs.name != "" && id.Name != p.runs.name { // not there, or found by the beginning of its hash
		id = agent.Identity{}
	}
	if errors.Is(err, agent.ErrNotFound) {
		err = nil
	}
	return id, err
}

// runsAlready refuses flags that do nothing.
func (p *program) runsAlready(id agent.Identity) error {
	return hint(usagef("%s is running already, so flags for running it do nothing", id.Name), "leave them out, or stop it first: %s", p.lethe("stop %s", id.Name))
}

// inside runs the identity in this process, as long as talk lasts.
func (p *program) inside(ctx context.Context, id agent.Identity, talk func(i *host.Identity, banner string) error) (agent.Identity, error) {
	logs, err := p.logFile()
	if err != nil {
		return id, err
	}
	defer logs.Close()
	o := p.hostOptions(p.logTo(logs))
	o.Rehearse = !p.livedOnline(id)
	if p.interactive() {
		o.Tell = p.teller(logs) // the screen is taken
	}
	h, err := p.newHost(o)
	if err != nil {
		return id, err
	}
	id, fresh, err := p.identity(h)
	if err != nil {
		return id, err
	}
	endTrace, err := p.startTrace(id)
	if err != nil {
		return id, errors.Join(err, h.Close())
	}
	i := h.Of(id)
	if err = i.Resume(ctx); err == nil {
		err = errors.Join(talk(i, banner(h, id, fresh)), i.Stop())
	}
	return id, errors.Join(err, endTrace(), h.Close())
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
