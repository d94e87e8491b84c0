package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/bridge"
	"lethe/bridge/mcp"
	"lethe/bridge/serve"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/openai"
	"lethe/bridge/serve/page"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

// serveOptions are the flags of lethe serve.
type serveOptions struct {
	addr             string
	allowUnencrypted bool
	open             bool
}

func newServeCommand(app *app) *cobra.Command {
	var options serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the APIs over HTTP, for this machine",
		Long: `Serve lets browsers and programs in over HTTP: the page at /, JSON at /api, an
OpenAI-compatible API at /v1, metrics at /metrics, webhooks at /hooks. It shows what
the commands show, and what a client says is a line of a room. Identities run
beside it: lethe run --with serve is both.

Whoever wants in needs the token in bridges/serve/token of the home. A browser gets in
by the link that --open prints; also beside a server that runs already. What
people start on the page runs in a process of its own, which outlives the server. docs/serve.md
has the rest. It prints "ready serve URL" once it listens.`,
		Example: `  lethe serve --open
  curl -H "Authorization: Bearer $(cat ~/.lethe/bridges/serve/token)" http://127.0.0.1:8420/api/agents`,
		RunE: app.makingHome(func(ctx context.Context, _ []string) error {
			return runServe(ctx, app, options)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.addr, "addr", "", "`HOST:PORT` to listen on (default 127.0.0.1:8420)")
	flags.BoolVar(&options.allowUnencrypted, "allow-unencrypted", false,
		"listen beyond this machine without TLS: others on the way can read the token and all that is said, and use it")
	flags.BoolVar(&options.open, "open", false,
		"open the page in a browser, and print the link that logs it in, once, within a minute")
	return cmd
}

func runServe(ctx context.Context, app *app, options serveOptions) error {
	conf := serveConfig(app)
	conf.Address = cmp.Or(options.addr, conf.Address)
	conf.Unencrypted = conf.Unencrypted || options.allowUnencrypted
	if err := conf.Check(); err != nil {
		return usageError(err)
	}
	err := serveUntilDone(ctx, app, conf, options.open)
	if options.open && errors.Is(err, bridge.ErrRunning) {
		link, err := serve.Link(conf)
		if err != nil {
			return hint(err, "stop the server, and start it with --open")
		}
		browse(app, link)
		return nil
	}
	return err
}

func serveConfig(app *app) serve.Config {
	log := app.logTo(app.err)
	return serve.Config{
		Settings: app.settings.Serve.In(app.home.Dir), Home: app.look, User: app.settings.UserName(), Log: log,
		Watcher: chat.NewWatcher(0, log), Parts: serveParts(app),
		Notices: app.settings.Notified(config.ByPush), Transport: app.settings.Web.Transport(),
		RunStarted: app.keep,
	}
}

// serveParts are the APIs and the page, each with its routes.
func serveParts(app *app) []serve.Part {
	return []serve.Part{api.Routes, mcp.Routes(app.found), openai.Routes, page.Routes}
}

// serveUntilDone runs the server until it is told to stop.
func serveUntilDone(ctx context.Context, app *app, conf serve.Config, open bool) error {
	sandbox.HideEnvironment() // the keys in it are nobody else's
	app.unhurried()
	ctx, end := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer end()
	conf.Ready = func(url string, link func() string) {
		keeping.Go(func() { app.keepOn(ctx) })
		announceServer(app, "ready", url)
		if open {
			browse(app, link())
		}
	}
	err := besideWatcher(ctx, conf.Watcher, func(ctx context.Context) error { return serve.Run(ctx, conf) })
	return taken(err, "serve.address in config.toml, or lethe serve --addr HOST:PORT,")
}

// taken adds advice to an error if another program has the address: setting names another one.
func taken(err error, setting string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return hint(err, "another program listens there; %s names another address", setting)
}

// announceServer prints where the server is.
func announceServer(app *app, event, url string) {
	value := map[string]string{"event": event, "bridge": backend.Name, "url": url}
	app.announce(value, "%s %s %s", event, backend.Name, url)
}

// browse prints a login link, and has the browser of the desktop, if there is one, open it. The browser is given a file
// that leads there: commands of agents can read the list of processes, and not the file.
func browse(app *app, link string) {
	announceServer(app, "open", link)
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	file := filepath.Join(app.home.Dir, "bridges", backend.Name, "open.html")
	page := fmt.Sprintf("<!doctype html><title>Lethe</title><meta http-equiv=refresh content=\"0;url=%s\">", link)
	if err := durable.Replace(file, []byte(page), 0o600); err != nil {
		return // the link is there to be pasted
	}
	cmd := exec.Command(opener, file)
	cmd.Env = slices.DeleteFunc(os.Environ(), holdsSecret) // no key goes there
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}   // it may be the browser
	if err := cmd.Start(); err != nil {
		return
	}
	go func() { _ = cmd.Wait() }() // ends with the opener, or with this process
}

func holdsSecret(text string) bool { return secret.Text(text) != text }
