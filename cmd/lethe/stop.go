package main

import (
	"fmt"

	"lethe/agent/home"
	"lethe/bridge/report"
)

func (p *program) stopCommand(c call, id home.Identity) error {
	ran, err := report.Stop(c, id)
	if !ran {
		err = hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: %s", p.howToRun(id, ""))
	}
	if err == nil {
		p.event("stopped", id)
	}
	return err
}

// event prints what has happened to an identity: "ready" or "stopped".
func (p *program) event(what string, id home.Identity) {
	p.announce(map[string]string{"event": what, "self": id.Self, "name": id.Name}, "%s %s %s", what, id.Self, id.Name)
}
