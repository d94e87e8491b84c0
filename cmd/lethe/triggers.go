package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // schedules know their zones on any machine

	"lethe/home"
	"lethe/llm"
	"lethe/report"
)

func (p *program) triggersCommand(c call, id home.Identity) error {
	all, err := p.look.Triggers(id)
	if now := c.text("run-now"); now != "" && err == nil {
		return p.fire(id, now, all)
	}
	return cmp.Or(p.show(all, err, func() { p.printTriggers(id, all) }), report.Wrong(id, all))
}

func (p *program) printTriggers(id home.Identity, all []report.Trigger) {
	if len(all) == 0 {
		ask := p.lethe(`"every day at nine say good morning"`)
		fmt.Fprintf(p.out, "%s has no triggers; docs/triggers.md tells how to write one, or ask it: %s\n", id.Name, ask)
		return
	}
	if _, running := home.Running(id); !running {
		p.note("%s does not run, and nothing fires until it does; start it with: %s", id.Name, p.howToRun(id, ""))
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(p.settings.Zone()).Format("Mon 2006-01-02 15:04:05")
	}
	table(p, "TRIGGER\tWHEN\tROOM\tNEXT\tLAST\tFIRED\tMISSED\tUSD", all, func(t report.Trigger) []any {
		usd := ""
		if t.Model != "" {
			usd = llm.Dollars(t.Model, t.USD)
		}
		return []any{t.Name, t.When, t.Room, at(t.Next), at(t.Last), t.Fired, t.Missed, usd}
	})
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
