package main

import (
	"fmt"
	"slices"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/chat"
)

// roomsCommand shows the rooms, or the one of a name.
func (p *program) roomsCommand(c call) error {
	name := c.arg(0)
	all, err := p.look.Rooms()
	all = slices.DeleteFunc(all, func(r report.Room) bool { return name != "" && r.Name != name })
	if err == nil && name != "" && len(all) == 0 {
		return hint(fmt.Errorf("find room %s: %w", name, home.ErrNotFound), "‹rooms› lists them")
	}
	for i, r := range all {
		if _, all[i].Lines, _, err = chat.Tail(chat.Path(p.home.Dir, r.Name), 0); err != nil {
			return err
		}
	}
	return p.words("rooms", all, err)
}
