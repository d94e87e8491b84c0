package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/chat"
	"lethe/internal/secret"
)

const asHelp = "sign with this `NAME` (default: yours)"

func (p *program) sayCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "say ROOM TEXT...",
		Short: "Append one message to a room",
		Example: `  lethe say dev "are you there?"
  lethe say dev --as bob -- --help is a flag`,
		RunE: func(_ *cobra.Command, list []string) error {
			if err := checkRooms(list[0]); err != nil {
				return err
			}
			return p.say(list[0], cmp.Or(as, p.settings.UserName()), strings.Join(list[1:], " "))
		},
	}
	option(cmd, &as, "as", asHelp)
	return cmd
}

func (p *program) say(room, as, text string) error {
	if as != chat.CleanName(as) {
		return usagef("%q cannot sign a line: no spaces, ] or control characters", as)
	}
	now := time.Now().UTC().Truncate(time.Second)
	line, err := chat.Format(false, as, now, secret.Text(text))
	if err != nil {
		return usageError(err)
	}
	if _, _, err = chat.Append(chat.Path(p.home.Dir, room), line); err != nil {
		return err
	}
	heard := len(p.look.Hearers(room)) > 0
	if !heard {
		p.note("no identity hears room %s; the line waits there. To have it heard: %s", room, p.howToHear(room))
	}
	if p.json { // heard: an identity is subscribed to the room
		return printLine(p.out, map[string]any{"room": room, "name": as, "at": now, "heard": heard})
	}
	return nil
}
