package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"lethe/bridge/acp"
	"lethe/home"
	"lethe/host"
	"lethe/llm"
)

// acpCommand talks with an editor about the identity that is meant, which runs meanwhile.
func (p *program) acpCommand(c call) error {
	p.runs.name = cmp.Or(c.arg(0), p.runs.name)
	id, err := p.meant()
	if err != nil {
		return err
	}
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	log := p.logTo(logs)
	if isTerminal(p.in) {
		p.note("an editor starts this, and talks with it in JSON; docs/acp.md has the settings. To talk here: %s",
			p.lethe(""))
	}
	var h *host.Host
	open := func(ctx context.Context, cwd string) (*host.Identity, bool, error) {
		o := p.hostOptions(log)
		o.Rehearse = !p.livedOnline(id)
		own := p.mayWorkIn(cwd, o)
		if own {
			o.Workspace = cwd
		}
		_, running := home.Running(id)
		if h, err = host.New(p.home, p.settings.Settings, o); errors.Is(err, llm.ErrNoKey) && running { // with another model, or another key
			h, err = host.Look(p.home, p.settings.Settings, o)
		}
		if err == nil {
			id, _, err = p.identity(h)
		}
		if err != nil {
			return nil, false, hint(err, "%s", p.hintOf(err))
		}
		i := h.Of(id)
		err = i.Resume(ctx)
		return i, own && i.Inside(), err
	}
	err = acp.Run(c, acp.Config{
		Self: id, Home: p.home, Store: p.look.Store, User: p.settings.UserName(), People: p.settings.Deciders(),
		Log: log, In: p.in, Out: p.out, Open: open,
	})
	if h != nil {
		err = errors.Join(err, h.Close())
	}
	return err
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
