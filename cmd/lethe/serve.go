package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

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
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.serveConfig()
			if err != nil {
				return err
			}
			if address != "" {
				c.Address = address
			}
			c.Unencrypted = c.Unencrypted || unencrypted
			if err := c.Check(); err != nil {
				return usageError{err}
			}
			err = p.serve(cmd.Context(), c, open)
			if open && errors.Is(err, bridge.ErrRunning) {
				link, lerr := serve.Link(cmd.Context(), c)
				if err = hint(lerr, "stop the server, and start it with --open"); err == nil {
					p.told("open", link)
				}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&address, "addr", "", "`HOST:PORT` to listen on (default "+serve.DefaultAddress+")")
	cmd.Flags().BoolVar(&open, "open", false, "print a link that logs a browser in, once, within a minute")
	cmd.Flags().BoolVar(&unencrypted, "allow-unencrypted", false, "listen beyond this machine without TLS: others on the way can read the token and all that is said, and use it")
	return cmd
}

func (p *program) serveConfig() (c serve.Config, err error) {
	c.Settings, c.User, c.Log = p.settings.Serve.In(p.home.Dir), p.settings.UserName(), p.logTo(p.err)
	c.Home, err = p.reports()
	c.Watcher, c.Parts = chat.NewWatcher(0, c.Log), serveParts()
	return c, err
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
	g, ctx := errgroup.WithContext(ctx)
	around, end := context.WithCancel(ctx)
	g.Go(func() error { return c.Watcher.Run(around) })
	g.Go(func() error {
		defer end()
		return serve.Run(ctx, c)
	})
	err := g.Wait()
	switch {
	case errors.Is(err, serve.ErrUnencrypted):
		return hint(usageError{err}, "give tls_cert and tls_key in [serve] of config.toml; or --allow-unencrypted, if that is meant")
	case errors.Is(err, syscall.EADDRINUSE):
		return hint(err, "another program listens there; name another address with --addr, or address in [serve] of config.toml")
	case errors.Is(err, serve.ErrToken):
		return tokenError{err}
	}
	return err
}

// told prints where the server is.
func (p *program) told(what, url string) {
	p.announce(map[string]string{"event": what, "bridge": backend.Name, "url": url}, "%s %s %s", what, backend.Name, url)
}
