package agent

import (
	"fmt"

	"lethe/tools"
)

// makeTools makes the tools.
func (a *Agent) makeTools() error {
	conf := a.cfg.Tools
	b := a.newAside()
	conf.Rooms, conf.Past, conf.CheckTrigger, conf.Times = b, b, b.checkTrigger, b.times
	conf.JobEnded = a.stirred.ring
	set, err := tools.New(conf)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.id.Name, err)
	}
	a.tools = set
	if a.cfg.runTrigger == nil {
		a.cfg.runTrigger = set.RunTrigger
	}
	a.aside, b.triggers = b, a.wakeConfig()
	b.triggers.Put = nil // that is the loop's
	return nil
}
