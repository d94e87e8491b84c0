package main

import (
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
	"lethe/chat"
	"lethe/internal/status"
)

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
