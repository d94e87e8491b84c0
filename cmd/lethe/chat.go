package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lethe/agent"
	"lethe/bridge/stdin"
	"lethe/host"
	"lethe/internal/status"
)

func (p *program) interactive() bool { return isTerminal(p.in) && isTerminal(p.out) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// bridge talks in a room: full screen on a terminal, plain lines otherwise.
func (p *program) bridge(ctx context.Context, c stdin.Config) error {
	c.In = p.in
	c.Home, c.User, c.Out, c.Err, c.JSON, c.Start = p.home.Dir, p.settings.UserName(), p.out, p.err, p.json, p.howToHear(c.Room)
	if p.interactive() && !c.JSON {
		var err error
		if c.Store, err = p.store(); err != nil {
			return err
		}
		return stdin.Screen(ctx, c)
	}
	p.tell(c.Banner)
	return stdin.Plain(ctx, c)
}

// tell says on standard error which identity runs, if one was started.
func (p *program) tell(banner string) {
	if banner != "" && p.json {
		p.note("note", "%s", banner)
	} else if banner != "" {
		fmt.Fprintln(p.err, banner)
	}
}

func (p *program) chatCommand() *cobra.Command {
	c, once := stdin.Config{}, false
	cmd := &cobra.Command{
		Use:   "chat [ROOM]",
		Short: "Talk in a room: full screen on a terminal, plain lines in a pipe",
		Long: `Chat connects you with a room: dev, or one that the default identity hears. On a
terminal it is a full-screen chat (/help shows the keys). In a pipe each line of the
input is a message, and what the agents say is printed. At the end of the input, chat
waits for the answers.`,
		Example: `  lethe chat dev
  git diff | lethe chat dev --once --timeout 2m`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, _ := p.defaultIdentity() // without one, its room is the default one
			c.Room = cmp.Or(first(list), p.roomOf(id))
			if err := checkRooms(c.Room); err != nil {
				return err
			}
			if c.Timeout < 0 {
				return usagef("--timeout is %s; it cannot be negative", c.Timeout)
			}
			if once {
				text, err := p.readMessage("")
				if err != nil {
					return err
				}
				return p.askRoom(cmd.Context(), asking{text, c.Timeout}, c.Room)
			}
			return p.bridge(cmd.Context(), c)
		},
		ValidArgsFunction: firstOnly(p.completeRooms),
	}
	cmd.Flags().BoolVar(&once, "once", false, "send the whole input as one message and print only the answer")
	p.timeoutFlag(cmd, &c.Timeout)
	return cmd
}

// awaitListener gives a daemon that was started a moment ago the time to hear the
// room: a second to take its lock, and ten more to show its status.
func (p *program) awaitListener(ctx context.Context, room string) {
	for began := time.Now(); time.Since(began) < 10*time.Second && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		starting := false
		for _, id := range p.subscribers(room) {
			s, err := status.Read(id.Dir)
			pid, running := agent.Running(id)
			shown := err == nil && pid == strconv.Itoa(s.PID)
			if running && shown && slices.Contains(s.Rooms, room) {
				return
			}
			starting = starting || running && !shown
		}
		if !starting && time.Since(began) > time.Second {
			return
		}
	}
}

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

// meant is the identity of --name, or the default one; the zero one is to be booted. A name that none has boots one
// only where there is none at all, or with --new: it may be mistyped.
func (p *program) meant() (id agent.Identity, err error) {
	if p.runs.fresh {
		return id, nil
	}
	name := p.runs.name
	if id, err = p.find(name); err == nil && name != "" && id.Name != name { // found by the beginning of its hash
		id, err = agent.Identity{}, fmt.Errorf("find identity %q: %w", name, agent.ErrNotFound)
	}
	_, none := host.Default(p.home, p.settings.Settings)
	switch {
	case errors.Is(err, agent.ErrNotFound) && errors.Is(none, agent.ErrNotFound):
		err = nil
	case errors.Is(err, agent.ErrNotFound):
		err = hint(err, "%sboot a new one with: %s", p.nearest(name), p.lethe("--new --name %s", quoted(name)))
	case p.runs.soul != "":
		p.runs.name = id.Name // which has a soul
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
