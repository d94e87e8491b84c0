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

// serveParts are what the server is made of.
func (p *program) serveParts() []serve.Part {
	return []serve.Part{api.Routes, mcp.Routes(p.found), openai.Routes, page.Routes}
}

func (p *program) serveCommand(call call) error {
	c := p.serveConfig()
	c.Address = cmp.Or(call.text("addr"), c.Address)
	c.Unencrypted = c.Unencrypted || call.is("allow-unencrypted")
	if err := c.Check(); err != nil {
		return usageError(err)
	}
	open := call.is("open")
	err := p.serve(call, c, open)
	if open && errors.Is(err, bridge.ErrRunning) {
		link, lerr := serve.Link(c)
		if err = hint(lerr, "stop the server, and start it with --open"); err == nil {
			p.browse(link)
		}
	}
	return err
}

func (p *program) serveConfig() serve.Config {
	log := p.logTo(p.err)
	return serve.Config{
		Settings: p.settings.Serve.In(p.home.Dir), Home: p.look, User: p.settings.UserName(), Log: log,
		Watcher: chat.NewWatcher(0, log), Parts: p.serveParts(),
		Notices: p.settings.Notified(config.ByPush), Transport: p.settings.Web.Transport(),
		RunStarted: p.keep,
	}
}

// serve runs the server until it is told to stop.
func (p *program) serve(ctx context.Context, c serve.Config, open bool) error {
	sandbox.HideEnvironment() // the keys in it are nobody else's
	p.unhurried()
	ctx, end := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer end()
	c.Ready = func(url string, link func() string) {
		keeping.Go(func() { p.keepOn(ctx) })
		p.told("ready", url)
		if open {
			p.browse(link())
		}
	}
	err := besideWatcher(ctx, c.Watcher, func(ctx context.Context) error { return serve.Run(ctx, c) })
	return taken(err, "serve.address in config.toml, or lethe serve --addr HOST:PORT,")
}

// taken says of an address that another program has what names another one.
func taken(err error, setting string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return hint(err, "another program listens there; %s names another address", setting)
}

// told prints where the server is.
func (p *program) told(what, url string) {
	p.announce(map[string]string{"event": what, "bridge": backend.Name, "url": url}, "%s %s %s", what, backend.Name, url)
}

// browse prints a login link, and has the browser of the desktop, if there is one, open it. That is given a file that
// leads there: commands of agents can read the list of processes, and not the file.
func (p *program) browse(link string) {
	p.told("open", link)
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	file := filepath.Join(p.home.Dir, "bridges", backend.Name, "open.html")
	page := fmt.Sprintf("<!doctype html><title>Lethe</title><meta http-equiv=refresh content=\"0;url=%s\">", link)
	cmd := exec.Command(opener, file)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return secret.Text(kv) != kv }) // no key goes there
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}                                             // it may be the browser
	if durable.Replace(file, []byte(page), 0o600) == nil && cmd.Start() == nil {                     // else the link is there to be pasted
		go func() { _ = cmd.Wait() }() // ends with the opener, or with this process
	}
}
