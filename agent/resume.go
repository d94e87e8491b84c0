package agent

import (
	"cmp"
	"fmt"
	"path/filepath"

	"lethe/tools"
)

// makeTools makes the tools.
func (a *Agent) makeTools() error {
	conf := a.cfg.Tools
	conf.AgentDir, conf.Home, conf.ChatsDir = a.id.Dir, a.cfg.Home.Dir, a.cfg.Home.Chats()
	b := a.newAside()
	conf.Rooms, conf.Past, conf.CheckTrigger, conf.Times = b, b, b.checkTrigger, b.times
	conf.Zone = a.cfg.Zone
	conf.Workspace = a.workspace()
	conf.JobEnded, conf.Weight = a.stirred.ring, weightOf
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

// workspace is where the tools work.
func (a *Agent) workspace() string {
	return cmp.Or(a.cfg.Tools.Workspace, filepath.Join(a.id.Dir, "workspace"))
}
