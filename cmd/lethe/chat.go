package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lethe/agent"
	"lethe/bridge/stdin"
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
