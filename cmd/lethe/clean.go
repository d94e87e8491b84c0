package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/bridge"
)

// stateDirs is what clean removes.
var stateDirs = []string{
	"agents", "names", "chats", "blobs", "bridges", "mcp", "started", "index", "lost+found", "lethe.log", "format", "key",
	"share",
}

// cleanCommand removes what is in stateDirs, after asking.
func (p *program) cleanCommand(c call) error {
	all, err := p.home.List()
	if err != nil {
		return err
	}
	if err := p.noneRuns(all); err != nil {
		return err
	}
	holds := slices.ContainsFunc(stateDirs, func(name string) bool {
		list, _ := os.ReadDir(filepath.Join(p.home.Dir, name))
		return len(list) > 0
	})
	if !holds && !p.json {
		fmt.Fprintf(p.out, "nothing to remove in %s\n", p.home.Dir)
		return nil
	}
	names := []string{}
	for _, id := range all {
		names = append(names, id.Name)
	}
	what := fmt.Sprintf("%s holds the identities %s, and rooms, stored texts and the state of bridges.\n", p.home.Dir,
		cmp.Or(oneLine(strings.Join(names, ", ")), "-"))
	if p.shared != nil {
		what += "The store of [share] keeps what it has: lethe take brings an identity back from it.\n"
	}
	if err := p.confirmed(c, what, "Remove all of it"); err != nil {
		return err
	}
	if err := p.noneRuns(all); err != nil { // one may have been started during the question
		return err
	}
	for _, name := range stateDirs {
		if err := os.RemoveAll(filepath.Join(p.home.Dir, name)); err != nil {
			return fmt.Errorf("clean %s: %w", p.home.Dir, err)
		}
	}
	return p.print(object{"home": p.home.Dir, "removed": names}, "removed.\n")
}

// noneRuns fails when an identity or a bridge runs.
func (p *program) noneRuns(ids []home.Identity) error {
	for _, id := range ids {
		if _, running := home.Running(id); running {
			return hint(fmt.Errorf("clean %s: %s is running", p.home.Dir, id.Name), "stop it first: ‹stop %s›",
				id.Name)
		}
	}
	all, err := bridge.ReadHealth(p.home.Dir)
	for _, h := range all {
		if h.Runs() {
			return hint(fmt.Errorf("clean %s: bridge %s is running", p.home.Dir, h.Name), "stop it first: it is process %d",
				h.PID)
		}
	}
	return err
}
