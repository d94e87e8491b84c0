package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/internal/secret"
)

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

func (p *program) say(room, as string, words []string) error {
	if as != chat.CleanName(as) {
		return usagef("%q cannot sign a line: no spaces, ] or control characters", as)
	}
	line, err := chat.Format(false, as, time.Now(), secret.Text(strings.Join(words, " ")))
	if err != nil {
		return usageError{err}
	}
	if _, _, err = chat.Append(chat.Path(p.home.Dir, room), line); err != nil {
		return err
	}
	if !p.subscribed(room) {
		fmt.Fprintf(p.err, "note: no identity hears room %s; what is said there waits\n", room)
	}
	return nil
}

// subscribed reports whether an identity hears a room when it runs.
func (p *program) subscribed(room string) bool {
	all, _ := p.home.List()
	return slices.ContainsFunc(all, func(id agent.Identity) bool {
		rooms, _ := chat.Rooms(id.Subs())
		return slices.Contains(rooms, room)
	})
}
