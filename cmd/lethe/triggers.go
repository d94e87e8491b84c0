package main

import (
	"cmp"
	"errors"
	_ "time/tzdata" // schedules know their zones on any machine

	"lethe/agent/home"
	"lethe/bridge/report"
)

func (p *program) triggersCommand(c call, id home.Identity) error {
	all, err := p.look.Triggers(id)
	if now := c.text("run-now"); now != "" && err == nil {
		return p.fire(id, now, all)
	}
	if _, running := home.Running(id); !running && !p.json && len(all) > 0 {
		p.note("%s does not run, and nothing fires until it does; start it with: %s", id.Name, p.howToRun(id, ""))
	}
	return cmp.Or(p.words("triggers", all, err, id.Name), report.Wrong(id, all))
}

// fire asks the identity to fire a trigger now.
func (p *program) fire(id home.Identity, name string, all []report.Trigger) error {
	err := report.Fire(id, name, all)
	if errors.Is(err, home.ErrNotFound) {
		return hint(err, "‹triggers %s› lists them", id.Name)
	}
	if err != nil {
		return err
	}
	if _, running := home.Running(id); !running {
		p.note("%s does not run: %s fires when it does; start it with: %s", id.Name, name, p.howToRun(id, ""))
		return nil
	}
	p.note("asked %s to fire %s now", id.Name, name)
	return nil
}
