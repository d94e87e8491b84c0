package main

import (
	"cmp"
	"context"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/mcp"
	"lethe/chat"
)

// mcpCommand serves the home to an agent of others. An identity that it asks runs here, if it does not elsewhere.
func (p *program) mcpCommand(c call) error {
	as := cmp.Or(c.text("as"), p.settings.UserName())
	if err := checkSigner(as); err != nil {
		return err
	}
	const note = "an agent of others starts this, and talks with it in JSON; docs/mcp-server.md has the settings"
	return p.serveGuest(note, func(g *guest) error {
		return mcp.Run(c, mcp.Config{
			Home: p.look, Log: g.log, Find: p.found,
			Talk: func(ctx context.Context, who string) (*host.Identity, error) {
				return g.talk(ctx, who, p.hostOptions(g.log))
			},
			Say: func(room, text string) (chat.Line, error) {
				if err := checkRooms(room); err != nil {
					return chat.Line{}, err
				}
				return host.Post(p.home, room, as, text)
			},
		})
	})
}

// found is the identity that a client means: "" is that of --name, or the default one.
func (p *program) found(who string) (home.Identity, error) {
	if who = cmp.Or(who, p.runs.name); who != "" {
		return p.home.Find(who)
	}
	return host.Default(p.home, p.settings.Settings)
}
