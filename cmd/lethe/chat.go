package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/terminal"
)

func (p *program) interactive() bool { return isTerminal(p.in) && isTerminal(p.out) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// bridge talks in a room: full screen on a terminal, plain lines otherwise.
func (p *program) bridge(ctx context.Context, c terminal.Config) error {
	c.In = p.in
	c.Timeout = p.timeout
	c.Home, c.User, c.Start = p.home.Dir, p.settings.UserName(), p.howToHear(c.Room)
	c.Out, c.Err, c.JSON = p.out, p.err, p.json
	return p.besideHosts(ctx, false, func(ctx context.Context) error {
		if p.interactive() && !c.JSON {
			c.Store, c.Run = p.look.Store, p.run(ctx)
			return terminal.Screen(ctx, c)
		}
		p.tell(c.Banner)
		return terminal.Plain(ctx, c)
	})
}

// run runs commands on the same home, and returns what they print.
func (p *program) run(ctx context.Context) func(args ...string) string {
	return func(args ...string) string {
		var out bytes.Buffer
		beside := &program{in: strings.NewReader(""), out: &out, err: &out}
		if p.homeDir != "" {
			args = append([]string{"--home", p.homeDir}, args...)
		}
		beside.execute(ctx, args)
		return out.String()
	}
}

// tell says on standard error which identity runs, if one was started.
func (p *program) tell(banner string) {
	if banner != "" && p.json {
		p.note("%s", banner)
	} else if banner != "" {
		fmt.Fprintln(p.err, banner)
	}
}

// chatCommand talks in a room, or sends one message to it.
func (p *program) chatCommand(c call) error {
	id, _ := p.defaultIdentity() // without one, its room is the default one
	room := cmp.Or(c.arg(0), p.roomOf(id))
	if err := checkRooms(room); err != nil {
		return err
	}
	p.timeout = c.lasts("timeout")
	if !c.is("once") {
		return p.bridge(c, terminal.Config{Room: room, Banner: strings.TrimSpace(p.nearestRoom(room))})
	}
	text, err := p.readMessage("")
	if err != nil {
		return err
	}
	return p.askRoom(c, text, room)
}

// converse is lethe without a command: attach to the default identity, or run it
// as long as the chat lasts.
func (p *program) converse(ctx context.Context) error {
	bye := ""
	err := p.talk(ctx, func(i *host.Identity, banner string) error {
		if banner != "" {
			bye = fmt.Sprintf("%s has stopped; everything is saved. Continue with: %s\n", i.Name,
				p.lethe("--name %s%s", i.Name, p.rerun))
		}
		return p.bridge(ctx, terminal.Config{Room: p.roomOf(i.Identity), Self: i.Self, Banner: banner})
	})
	if err == nil && p.interactive() {
		fmt.Fprint(p.out, bye)
	}
	return err
}

// meant is the identity of --name, or the default one; the zero one is to be booted. A name that none has boots one
// only where there is none at all, or with --new: it may be mistyped.
func (p *program) meant() (id home.Identity, err error) {
	if p.runs.fresh {
		return id, nil
	}
	name := p.runs.name
	if id, err = p.find(name); err == nil && name != "" && id.Name != name { // found by the beginning of its hash
		id, err = home.Identity{}, fmt.Errorf("find identity %q: %w", name, home.ErrNotFound)
	}
	_, none := host.Default(p.home, p.settings.Settings)
	if name == "" && errors.As(err, new(*home.ElsewhereError)) {
		return id, err
	}
	switch {
	case errors.Is(err, home.ErrNotFound) && errors.Is(none, home.ErrNotFound):
		err = nil
	case errors.Is(err, home.ErrNotFound):
		err = hint(err, "%sboot a new one with: ‹--new --name %s›", p.nearest(name), quoted(name))
	case p.runs.soul != "":
		p.runs.name = id.Name // which has a soul
	}
	return id, err
}

// talk has f talk with the identity that is meant. Where no other process runs it, this one does for so long, and the
// banner says so.
func (p *program) talk(ctx context.Context, f func(i *host.Identity, banner string) error) error {
	id, err := p.meant()
	if err != nil {
		return err
	}
	if _, running := home.Running(id); running {
		if p.rerun+p.runs.soul+p.runs.Model != "" {
			return hint(usagef("%s is running already, so flags for running it do nothing", id.Name),
				"leave them out, or stop it first: ‹stop %s›", id.Name)
		}
		return p.attached([]home.Identity{id}, func(all []*host.Identity) error { return f(all[0], "") })
	}
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	o := p.hostOptions(p.logTo(logs))
	o.Rehearse = !p.livedOnline(id)
	h, err := host.New(p.home, p.settings.Settings, o)
	if err != nil {
		return err
	}
	id, fresh, err := p.identity(h)
	if err != nil {
		return err
	}
	i := h.Of(id)
	if err = i.Resume(ctx); err == nil {
		err = errors.Join(f(i, p.text("banner", h, id, fresh)), i.Stop())
	}
	return errors.Join(err, h.Close())
}

// livedOnline reports whether an identity has used a real model: the offline one
// must not speak in its name unasked.
func (p *program) livedOnline(id home.Identity) bool {
	return host.LivedOnline(id, p.look.Store)
}
