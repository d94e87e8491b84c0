package main

import (
	"errors"
	"fmt"

	"lethe/chat"
	"lethe/config"
	"lethe/home"
)

// rmCommand removes an identity or a room, after asking.
func (p *program) rmCommand(c call) error {
	name, room := c.arg(0), c.text("room")
	switch {
	case (name == "") == (room == ""):
		return usagef("name an identity to remove, or a room with --room")
	case p.json && !c.is("yes"):
		return usagef("--json asks nobody; add --yes")
	case room != "":
		return p.removeRoom(c, room)
	}
	id, err := p.find(name)
	if err != nil {
		return err
	}
	r, err := p.home.Removal(id)
	if err != nil {
		return fmt.Errorf("remove %s: %w", id.Name, err)
	}
	isDefault := p.settings.DefaultIdentity == id.Name
	if !c.is("yes") && !p.confirmed(c, p.text("removal", r, isDefault), "Remove %s", id.Name) {
		return fmt.Errorf("remove %s: not confirmed, nothing was removed", id.Name)
	}
	if err := p.home.Remove(id); err != nil {
		return err
	}
	return p.print(r, "removed %s %s\n", id.Self, id.Name)
}

func (p *program) removeRoom(c call, room string) error {
	_, lines, _, err := chat.Tail(chat.Path(p.home.Dir, room), 0)
	hearers := []string{}
	for _, id := range p.look.Hearers(room) {
		hearers = append(hearers, id.Name)
	}
	r := object{"room": room, "lines": lines, "hearers": hearers}
	if err == nil && lines+len(hearers) > 0 && !c.is("yes") && !p.confirmed(c, p.text("removal of a room", r), "Remove room %s", room) {
		return fmt.Errorf("remove room %s: not confirmed, nothing was removed", room)
	}
	err = p.home.RemoveRoom(room)
	if near := config.Nearest(room, chat.All(p.home.Dir)); errors.Is(err, home.ErrNotFound) && near != "" {
		err = hint(err, "did you mean: %s", near)
	}
	if err != nil {
		return err
	}
	return p.print(r, "removed room %s\n", room)
}
