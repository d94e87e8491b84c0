package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"lethe/agent/host"
	"lethe/agent/tools/skills"
)

// shelf has the skills and programs of the home and of a workspace: the one that is named or configured, or else each
// identity's own.
func (p *program) shelf(c call) *skills.Shelf {
	workspaces := []string{cmp.Or(c.text("workspace"), p.settings.Tools.Workspace)}
	if workspaces[0] == "" {
		workspaces = nil
		all, _ := p.home.List() // what cannot be read has no skills
		for _, id := range all {
			workspaces = append(workspaces, filepath.Join(id.Dir, "workspace"))
		}
	}
	return host.Shelf(p.home, p.settings.Settings, workspaces...)
}

func (p *program) skillsCommand(c call) error { return p.words("skills", p.shelf(c).All(), nil) }

func (p *program) skillsCheckCommand(c call) error {
	all := slices.DeleteFunc(p.shelf(c).All(), func(e skills.Entry) bool { return len(e.Faults) == 0 })
	err := p.words("faults", all, nil)
	if err == nil && len(all) > 0 {
		err = codedError{fmt.Errorf("check skills: skills and programs with faults: %d", len(all)), exitCorrupt}
		err = hint(err, "docs/skills.md says what they may be")
	}
	return err
}

func (p *program) skillsAllowCommand(c call) error {
	if len(c.args) == 0 && !c.is("all") {
		return usagef("name the skill or program to allow, or say --all")
	}
	shelf, diffs := p.shelf(c), map[string]string{}
	for _, e := range shelf.All() {
		if !e.Waits || !c.is("all") && e.Name != c.arg(0) && e.Path != c.arg(0) {
			continue
		}
		diff, err := shelf.Allow(e, !c.is("show"))
		if err != nil {
			return fmt.Errorf("allow %s: %w", e.Path, err)
		}
		diffs[e.Path] = diff
	}
	if len(diffs) == 0 && !c.is("all") {
		err := codedError{fmt.Errorf("allow %s: none of that name waits for it", c.arg(0)), exitNotFound}
		return hint(err, "‹skills list› shows all; --workspace names another workspace")
	}
	return p.words("allowed", diffs, nil, c.is("show"))
}

func (p *program) skillsAddCommand(c call) error {
	dir, err := skills.Install(p.home.Dir, c.arg(0))
	if err != nil {
		return err
	}
	return p.print(object{"added": dir}, "added: %s\n", dir)
}
