package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lethe/agent"
	"lethe/bridge/stdin"
	"lethe/chat"
	"lethe/internal/status"
)

func (p *program) runCommand() *cobra.Command {
	var with []string
	cmd := &cobra.Command{
		Use:   "run [NAME|HASH]...",
		Short: "The daemon: resume these identities, or the default one, or boot a new one",
		Long: `Run is the daemon. It resumes the identities that are named, by name, hash or the
beginning of a hash. With --name it resumes the one of that name, or boots it.
Without either it resumes the default identity, or boots one.

It prints "ready <hash> <name>" once an identity hears its rooms. SIGINT or
SIGTERM stop it within two seconds; SIGHUP makes paused identities try again.

With --with it keeps a bridge running beside itself, as a process of its own.`,
		Example: `  lethe run --name ada --soul ada.md --room dev --room ops
  lethe run ada 51c0
  lethe run --offline
  lethe run --with telegram`,
		RunE:              func(cmd *cobra.Command, who []string) error { return p.daemon(cmd.Context(), who, with) },
		ValidArgsFunction: p.completeIdentities,
	}
	p.runFlags(cmd)
	cmd.Flags().StringArrayVar(&with, "with", nil, "`BRIDGE` to keep running beside the daemon: telegram; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(companions, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// daemon runs identities, and bridges beside them, until it is told to stop.
func (p *program) daemon(ctx context.Context, who, with []string) error {
	p.unhurried()
	ids, err := p.named(who)
	if err != nil {
		return err
	}
	bridges, err := p.children(with)
	if err != nil {
		return err
	}
	w, err := p.newWorld(p.logTo(p.err), false)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		id, _, err := w.birth()
		if err != nil {
			return err
		}
		ids = []agent.Identity{id}
	}
	if err := w.hear(ids); err != nil {
		return err
	}
	w.ready = once(func(id agent.Identity) { fmt.Fprintf(p.out, "ready %s %s\n", id.Self, id.Name) })
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	w.mended = hup
	return p.beside(ctx, bridges, func(ctx context.Context) error { return w.run(ctx, ids) })
}

// named finds the identities of a command line, each once.
func (p *program) named(who []string) ([]agent.Identity, error) {
	if len(who) > 0 && (p.runs.name != "" || p.runs.soul != "") {
		return nil, usagef("--name and --soul boot a new identity; leave them out to resume %s", who[0])
	}
	var ids []agent.Identity
	seen := map[string]bool{}
	for _, name := range who {
		id, err := p.find(name)
		if err != nil {
			return nil, hint(err, "lethe agents lists them; boot a new one with: lethe run --name %s", name)
		}
		if !seen[id.Self] {
			seen[id.Self] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

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

// roomOf is the room to talk to an identity in.
func (p *program) roomOf(id agent.Identity) string {
	if len(p.runs.rooms) > 0 {
		return p.runs.rooms[0]
	}
	rooms, err := chat.Rooms(id.Subs())
	if err != nil || len(rooms) == 0 {
		return defaultRoom
	}
	for _, r := range rooms {
		if r == defaultRoom {
			return r
		}
	}
	return rooms[0]
}

func (p *program) interactive() bool { return isTerminal(p.in) && isTerminal(p.out) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// bridge talks in a room: full screen on a terminal, plain lines otherwise.
func (p *program) bridge(ctx context.Context, c stdin.Config) error {
	c.Home, c.User, c.In, c.Out, c.Err, c.JSON = p.home.Dir, p.userName(), p.in, p.out, p.err, p.json
	if p.interactive() && !c.Once && !c.JSON {
		return stdin.Screen(ctx, c)
	}
	if c.Banner != "" {
		fmt.Fprintln(p.err, c.Banner)
	}
	return stdin.Plain(ctx, c)
}

func (p *program) chatCommand() *cobra.Command {
	c := stdin.Config{}
	cmd := &cobra.Command{
		Use:   "chat [ROOM]",
		Short: "Talk in a room: full screen on a terminal, plain lines in a pipe",
		Long: `Chat is a bridge between you and a room. On a terminal it is a full-screen chat
(/help shows the keys). In a pipe each line of the input is a message, what the
agents say is printed, and after the end of the input it waits for the answers.`,
		Example: `  lethe chat dev
  git diff | lethe chat dev --once --timeout 2m`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			c.Room = defaultRoom
			if len(list) == 1 {
				c.Room = list[0]
			}
			if err := checkRooms(c.Room); err != nil {
				return err
			}
			if c.Timeout < 0 {
				return usagef("--timeout is %s; it cannot be less than 0, which is no bound", c.Timeout)
			}
			if c.Once {
				p.awaitListener(cmd.Context(), c.Room)
			}
			return p.bridge(cmd.Context(), c)
		},
		ValidArgsFunction: firstOnly(p.completeRooms),
	}
	cmd.Flags().BoolVar(&c.Once, "once", false, "send the whole input as one message, print only the answer")
	cmd.Flags().DurationVar(&c.Timeout, "timeout", 0, "longest wait for answers once the input has ended, a `DURATION` such as 90s (0: no bound)")
	return cmd
}

// awaitListener gives a daemon that was started a moment ago the time to hear
// the room: a second to show that it is there, and ten if it is. Whether anybody
// hears, the bridge finds out.
func (p *program) awaitListener(ctx context.Context, room string) {
	for began := time.Now(); time.Since(began) < 10*time.Second && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		all, _ := p.home.List()
		if slices.ContainsFunc(all, func(id agent.Identity) bool { return hears(id, room) }) {
			return
		}
		if time.Since(began) > time.Second && !slices.ContainsFunc(all, func(id agent.Identity) bool { return starts(id, room) }) {
			return
		}
	}
}

// starts says whether somebody holds the identity, is linked to the room, and
// has shown no status yet.
func starts(id agent.Identity, room string) bool {
	pid, running := agent.Running(id)
	s, err := status.Read(id.Dir)
	rooms, _ := chat.Rooms(id.Subs())
	return running && (err != nil || pid != strconv.Itoa(s.PID)) && slices.Contains(rooms, room)
}

func hears(id agent.Identity, room string) bool {
	s, err := status.Read(id.Dir)
	pid, running := agent.Running(id)
	return err == nil && running && pid == strconv.Itoa(s.PID) && slices.Contains(s.Rooms, room)
}

func (p *program) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop NAME",
		Short: "Ask a running identity to stop, and wait until it has",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, err := p.find(list[0])
			if err != nil {
				return err
			}
			pid, running := agent.Running(id)
			if !running {
				return hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: lethe run %s", id.Name)
			}
			if err := agent.Stop(id); err != nil {
				return err
			}
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				if _, running := agent.Running(id); !running {
					fmt.Fprintf(p.out, "stopped %s %s\n", id.Self, id.Name)
					return nil
				}
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
			}
			return hint(fmt.Errorf("stop %s: it still runs in process %s", id.Name, pid), "it has been asked; kill %s ends it at once, and loses nothing", pid)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
}

func (p *program) sayCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "say ROOM TEXT...",
		Short: "Append one message to a room",
		Args:  args(cobra.MinimumNArgs(2)),
		RunE: func(_ *cobra.Command, list []string) error {
			if err := checkRooms(list[0]); err != nil {
				return err
			}
			return p.say(list[0], or(as, p.userName()), list[1:])
		},
		ValidArgsFunction: firstOnly(p.completeRooms),
	}
	cmd.Flags().StringVar(&as, "as", "", "the name to sign with (default: yours)")
	return cmd
}

// alive reads the status of a running identity.
func alive(id agent.Identity) (status.Status, bool) {
	s, err := status.Read(id.Dir)
	_, running := agent.Running(id)
	if err != nil {
		return status.Status{}, running
	}
	return s, running
}
