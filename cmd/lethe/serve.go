package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/spf13/cobra"

	"lethe/bridge"
	"lethe/bridge/serve"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/openai"
	"lethe/bridge/serve/page"
	"lethe/chat"
	"lethe/internal/sandbox"
)

// serveParts are what the server is made of.
func serveParts() []serve.Part { return []serve.Part{api.Routes, openai.Routes, page.Routes} }

func (p *program) serveCommand() *cobra.Command {
	var address string
	var open, unencrypted bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the APIs over HTTP, for this machine",
		Long: `Serve lets browsers and programs in over HTTP: the page at /, JSON at /api, an
OpenAI-compatible API at /v1, metrics at /metrics, webhooks at /hooks. It shows what
the commands show, and what a client says is a line of a room. Identities run
beside it: lethe run --with serve is both.

Whoever wants in needs the token in bridges/serve/token of the home. A browser gets in
by the link that --open prints; also beside a server that runs already. docs/serve.md
has the rest. It prints "ready serve URL" once it listens.`,
		Example: `  lethe serve --open
  curl -H "Authorization: Bearer $(cat ~/.lethe/bridges/serve/token)" http://127.0.0.1:8420/api/agents`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := p.serveConfig()
			if address != "" {
				c.Address = address
			}
			c.Unencrypted = c.Unencrypted || unencrypted
			if err := c.Check(); err != nil {
				return usageError(err)
			}
			err := p.serve(cmd.Context(), c, open)
			if open && errors.Is(err, bridge.ErrRunning) {
				link, lerr := serve.Link(c)
				if err = hint(lerr, "stop the server, and start it with --open"); err == nil {
					p.told("open", link)
				}
			}
			return err
		},
	}
	option(cmd, &address, "addr", "`HOST:PORT` to listen on (default "+serve.DefaultAddress+")")
	option(cmd, &open, "open", "print a link that logs a browser in, once, within a minute")
	option(cmd, &unencrypted, "allow-unencrypted", "listen beyond this machine without TLS: "+
		"others on the way can read the token and all that is said, and use it")
	return cmd
}

func (p *program) serveConfig() serve.Config {
	log := p.logTo(p.err)
	return serve.Config{
		Settings: p.settings.Serve.In(p.home.Dir), Home: p.look, User: p.settings.UserName(), Log: log,
		Watcher: chat.NewWatcher(0, log), Parts: serveParts(),
	}
}

// serve runs the server until it is told to stop.
func (p *program) serve(ctx context.Context, c serve.Config, open bool) error {
	sandbox.HideEnvironment() // the keys in it are nobody else's
	p.unhurried()
	c.Ready = func(url string, link func() string) {
		p.told("ready", url)
		if open {
			p.told("open", link())
		}
	}
	err := besideWatcher(ctx, c.Watcher, func(ctx context.Context) error { return serve.Run(ctx, c) })
	if errors.Is(err, syscall.EADDRINUSE) {
		return hint(err, "another program listens there; "+
			"name another address with --addr, or address in [serve] of config.toml")
	}
	return err
}

// told prints where the server is.
func (p *program) told(what, url string) {
	p.announce(map[string]string{"event": what, "bridge": backend.Name, "url": url}, "%s %s %s", what, backend.Name, url)
}
