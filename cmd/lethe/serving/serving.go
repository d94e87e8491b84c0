// Package serving is lethe serve: the page and the APIs over HTTP, the browser that opens the page, and the process
// that runs the identities started there.
package serving

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/mcp"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/openai"
	"lethe/bridge/serve/page"
	"lethe/chat"
	"lethe/cmd/lethe/archive"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/internal/sandbox"
)

// Options are the flags of lethe serve.
type Options struct {
	Address          string // "": as config.toml says
	AllowUnencrypted bool
	Open             bool // the page in a browser
}

// Run serves until ctx ends. With Open it opens the page of a server that runs already, too.
func Run(ctx context.Context, app *cli.App, options Options) error {
	conf := configOf(app)
	conf.Address = cmp.Or(options.Address, conf.Address)
	conf.Unencrypted = conf.Unencrypted || options.AllowUnencrypted
	if err := conf.Check(); err != nil {
		return exit.With(exit.Usage, err)
	}
	err := serveUntilDone(ctx, app, conf, options.Open)
	if !options.Open || !errors.Is(err, bridge.ErrRunning) {
		return err
	}
	link, err := serve.Link(conf)
	if err != nil {
		return exit.Hint(err, "stop the server, and start it with --open")
	}
	browse(app, link)
	return nil
}

func configOf(app *cli.App) serve.Config {
	log := app.LogTo(app.Err)
	return serve.Config{
		Settings: app.Settings.Serve.In(app.Home.Dir), Home: app.Look, User: app.Settings.UserName(), Log: log,
		Watcher: chat.NewWatcher(0, log), Parts: parts(app),
		Notices: app.Settings.Notified(config.ByPush), Transport: app.Settings.Web.Transport(),
		RunStarted: func() error { return startKeeper(app) },
		Rerun:      func(ctx context.Context, args ...string) ([]byte, error) { return rerun(ctx, app, args) },
		Archive: func(w io.Writer, id home.Identity, copied, workspace bool, to ...string) error {
			options := archive.WriteOptions{Copy: copied, Workspace: workspace, To: to}
			_, err := archive.Write(w, app.Home, app.Look.Store, id, options)
			if errors.Is(err, archive.ErrRecipient) {
				err = &report.InvalidError{Err: err}
			}
			return err
		},
	}
}

// parts are the APIs and the page, each with its routes.
func parts(app *cli.App) []serve.Part {
	return []serve.Part{api.Routes, mcp.Routes(app.FindForClient), openai.Routes, page.Routes}
}

// serveUntilDone runs the server until ctx ends.
func serveUntilDone(ctx context.Context, app *cli.App, conf serve.Config, open bool) error {
	sandbox.HideEnvironment() // the keys in it are nobody else's
	app.Unhurried()
	ctx, end := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer end()
	conf.Ready = func(url string, link func() string) {
		keeping.Go(func() { keepStarted(ctx, app) })
		announce(app, "ready", url)
		if open {
			browse(app, link())
		}
	}
	err := cli.BesideWatcher(ctx, conf.Watcher, func(ctx context.Context) error { return serve.Run(ctx, conf) })
	return cli.AddressTaken(err, "serve.address in config.toml, or lethe serve --addr HOST:PORT,")
}

// announce prints where the server is.
func announce(app *cli.App, event, url string) {
	value := map[string]string{"event": event, "bridge": backend.Name, "url": url}
	app.Announce(value, "%s %s %s", event, backend.Name, url)
}
