package main

import (
	"fmt"
	"strings"

	"lethe/check"
)

func (p *program) gcCommand(c call) error {
	store, err := p.store()
	if err != nil {
		return err
	}
	g, err := check.Collect(p.home, store, c.is("yes"))
	return p.show(g, err, func() { p.printGarbage(g, c.is("yes")) })
}

func (p *program) printGarbage(g check.Garbage, yes bool) {
	if g.Blobs > 0 {
		fmt.Fprintf(p.out, "%d blobs, %.1f MB\n", g.Blobs, float64(g.Bytes)/1e6)
	}
	does := map[bool]string{true: "removed", false: "to be removed"}[yes]
	for _, dir := range g.Removed {
		fmt.Fprintf(p.out, "%s, after 30 days: %s\n", does, strings.TrimPrefix(dir, p.home.Dir+"/"))
	}
	if g.Blobs+len(g.Removed) == 0 {
		fmt.Fprintln(p.out, "nothing to move")
	} else if !yes {
		p.note("nothing was changed; %s moves them to lost+found for 30 days", p.lethe("gc --yes"))
	}
}
