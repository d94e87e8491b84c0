package main

import (
	"context"
	"errors"
	"fmt"

	"lethe/agent"
	"lethe/bridge/stdin"
)

// converse is lethe without a command: attach to the default identity, or live
// with it as long as the chat lasts.
func (p *program) converse(ctx context.Context) error {
	id, err := p.talkPartner()
	if err == nil {
		if _, running := agent.Running(id); running {
			if p.runs.living() {
				return hint(usagef("%s is running already, so flags for running it do nothing", id.Name), "stop it first: lethe stop %s", id.Name)
			}
			return p.bridge(ctx, stdin.Config{Room: p.roomOf(id), Self: id.Self})
		}
	} else if !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	return p.inside(ctx, id)
}

func (p *program) talkPartner() (agent.Identity, error) {
	if name := p.runs.name; name != "" {
		id, err := p.home.Find(name)
		if err == nil && id.Name != name { // it fits the beginning of a hash
			return agent.Identity{}, fmt.Errorf("find identity %q: %w", name, agent.ErrNotFound)
		}
		return id, err
	}
	return p.defaultIdentity()
}

// inside runs the identity in this process, and the chat beside it.
func (p *program) inside(ctx context.Context, id agent.Identity) error {
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	w, err := p.newWorld(p.logTo(logs), !p.livedOnline(id))
	if err != nil {
		return err
	}
	if p.interactive() {
		w.events = logs // the screen is taken
	}
	id, fresh, err := w.birth()
	if err != nil {
		return err
	}
	if err := w.hear([]agent.Identity{id}); err != nil {
		return err
	}
	ready := make(chan struct{})
	w.ready = once(func(agent.Identity) { close(ready) })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lived := make(chan error, 1)
	go func() { lived <- w.run(ctx, []agent.Identity{id}) }() // ends with ctx; waited for below
	select {
	case err := <-lived:
		return err
	case <-ready:
	}
	talked := p.bridge(ctx, stdin.Config{Room: p.roomOf(id), Self: id.Self, Banner: w.banner(id, fresh)})
	cancel()
	err = errors.Join(talked, <-lived)
	if err == nil && p.interactive() {
		how := ""
		if w.offline {
			how = "--offline "
		}
		fmt.Fprintf(p.out, "%s sleeps. Wake it with: lethe run %s%.16s\n", id.Name, how, id.Self)
	}
	return err
}

// livedOnline reports whether an identity has thought with a real model: the
// offline one must not speak in its name unasked.
func (p *program) livedOnline(id agent.Identity) bool {
	if id.Self == "" {
		return false
	}
	store, err := p.store()
	if err != nil {
		return false
	}
	s, err := agent.Fold(id, store)
	return err == nil && s.Stable.Params.Endpoint != "" && s.Stable.Params.Endpoint != "offline"
}

func (w *world) banner(id agent.Identity, fresh bool) string {
	what := "resumed"
	if fresh {
		what = "booted"
	}
	with := "thinks with " + w.endpoint
	if w.offline {
		with = "thinks with the offline rehearsal model, which is not intelligent; set DEEPSEEK_API_KEY for a real one. Say help to see what it understands"
	}
	return fmt.Sprintf("%s %s (%.16s). It %s.", what, id.Name, id.Self, with)
}
