package main

import (
	"lethe/cmd/lethe/check"
)

func (p *program) gcCommand(c call) error {
	yes := c.is("yes")
	store, err := p.store()
	if err != nil {
		return err
	}
	g, err := check.Collect(p.home, store, yes)
	if err == nil && !yes && !p.json && g.Blobs+len(g.Removed) > 0 {
		defer p.note("nothing was changed; %s moves them to lost+found for 30 days", p.lethe("gc --yes"))
	}
	return p.words("garbage", g, err, yes)
}
