package main

import (
	"lethe/host"
	"lethe/skills"
)

func (p *program) skillsCommand(call) error {
	all := host.Shelf(p.home, append(p.settings.Tools.Roots, p.settings.Tools.Workspace)).All()
	return p.words("skills", all, nil)
}

func (p *program) skillsAddCommand(c call) error {
	dir, err := skills.Install(p.home.Dir, c.arg(0))
	if err != nil {
		return err
	}
	return p.print(object{"added": dir}, "added: %s\n", dir)
}
