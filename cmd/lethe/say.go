package main

import (
	"cmp"
	"context"
	"strings"
	"time"

	"lethe/chat"
	"lethe/internal/secret"
)

// sayCommand appends a line to a room.
func (p *program) sayCommand(c call) error {
	if err := checkRooms(c.arg(0)); err != nil {
		return err
	}
	return p.say(c, c.arg(0), cmp.Or(c.text("as"), p.settings.UserName()), strings.Join(c.args[1:], " "))
}

func (p *program) say(ctx context.Context, room, as, text string) error {
	if err := checkSigner(as); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	line, err := chat.Format(false, as, now, secret.Text(text))
	if err != nil {
		return usageError(err)
	}
	near := p.nearestRoom(room)
	if _, _, err = chat.Append(chat.Path(p.home.Dir, room), line); err != nil {
		return err
	}
	p.refresh(ctx) // no daemon need run here
	heard := len(p.look.Hearers(room)) > 0
	if !heard {
		p.note("%sno identity hears room %s; the line waits there. To have it heard: %s", near, room, p.howToHear(room))
	}
	if p.json { // heard: an identity is subscribed to the room
		return printLine(p.out, object{"room": room, "name": as, "at": now, "heard": heard})
	}
	return nil
}

// checkSigner refuses what cannot sign a line.
func checkSigner(as string) error {
	if as != chat.CleanName(as) {
		return usagef("%q cannot sign a line: no spaces, ] or control characters", as)
	}
	return nil
}
