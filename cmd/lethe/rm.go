package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"
)

// rmCommand removes an identity or a room.
func (p *program) rmCommand(c call) error {
	name, room := c.arg(0), c.text("room")
	if (name == "") == (room == "") {
		return usagef("name an identity to remove, or a room with --room")
	}
	if room != "" {
		what := p.text("room goes", p.look.Hearers(room), room)
		return p.removed(c, "room "+room, what, func() error {
			return hint(p.home.RemoveRoom(room), "%s‹rooms› lists them", p.nearestRoom(room))
		})
	}
	id, err := p.find(name)
	if err != nil {
		return err
	}
	family, err := p.home.Family(p.look.Store, id)
	if err != nil {
		return err
	}
	what := p.text("identity goes", family, p.settings.DefaultIdentity == id.Name)
	return p.removed(c, id.Name, what, func() error { return p.home.Remove(p.look.Store, id) })
}

// removed tells what is about to go, and removes it when that was confirmed.
func (p *program) removed(c call, name, what string, remove func() error) error {
	err := p.confirmed(c, what, "Remove "+name)
	if err == nil {
		err = remove()
	}
	if err != nil {
		return err
	}
	return p.print(object{"removed": name}, "removed %s\n", name)
}

// confirmed asks whether somebody wants what is about to happen, unless --yes says so.
func (p *program) confirmed(c call, what, question string) error {
	switch {
	case c.is("yes"):
		return nil
	case p.json:
		return usagef("--json asks nobody; add --yes")
	}
	answer, _ := p.typed(p.out, what+question+" for good? Type yes: ", false)
	if answer != "yes" {
		return fmt.Errorf("%s: not confirmed, nothing was removed", strings.ToLower(question))
	}
	return nil
}

// typed asks on out, and returns the line that somebody types. One that is hidden is not shown on a terminal.
func (p *program) typed(out io.Writer, question string, hidden bool) (line string, err error) {
	fmt.Fprint(out, question)
	signal.Reset(os.Interrupt) // Ctrl+C ends it at once: nothing is under way
	f, _ := p.in.(*os.File)
	if hidden = hidden && isTerminal(p.in); hidden {
		var text []byte
		text, err = term.ReadPassword(int(f.Fd()))
		line = string(text)
	} else {
		line, err = p.lines.ReadString('\n')
	}
	if hidden || err != nil { // the line of the question has no end yet
		fmt.Fprintln(out)
	}
	if errors.Is(err, io.EOF) { // Ctrl+D
		err = context.Canceled
	}
	return strings.TrimSpace(line), err
}
