package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"lethe/agent/host"
	"lethe/bridge/acp"
)

// acpCommand talks with an editor about the identity that is meant, which runs meanwhile.
func (p *program) acpCommand(c call) error {
	p.runs.name = cmp.Or(c.arg(0), p.runs.name)
	id, err := p.meant()
	if err != nil {
		return err
	}
	note := "an editor starts this, and talks with it in JSON; docs/acp.md has the settings. To talk here: " + p.lethe("")
	return p.serveGuest(note, func(g *guest) error {
		open := func(ctx context.Context, cwd string) (*host.Identity, bool, error) {
			o := p.hostOptions(g.log)
			own := p.mayWorkIn(cwd, o)
			if own {
				o.Workspace = cwd
			}
			i, err := g.talk(ctx, "", o)
			return i, own && err == nil && i.Inside(), err
		}
		return acp.Run(c, acp.Config{
			Self: id, Workspace: p.settings.Tools.Workspace, Home: p.home, Store: p.look.Store, User: p.settings.UserName(), People: p.settings.Deciders(),
			Log: g.log, In: p.in, Out: p.out, Open: open,
		})
	})
}

// mayWorkIn reports whether tools may work in the folder of the editor: the folder of all of a person's files is no
// project, and the tools must not reach the home.
func (p *program) mayWorkIn(cwd string, o host.Options) bool {
	if o.Workspace != "" || p.settings.Tools.Workspace != "" {
		return false
	}
	rel, err := filepath.Rel(cwd, p.home.Dir)
	persons, _ := os.UserHomeDir()
	return err == nil && strings.HasPrefix(rel, "..") && filepath.Clean(cwd) != persons
}
