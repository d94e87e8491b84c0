// Package serve runs the HTTP server of lethe serve: a bridge whose other side comes by itself. It reads the
// files that the commands read, posts the lines of clients through package bridge, and lets every request
// pass package guard.
//
//	parts := []serve.Part{api.Routes}
//	err := serve.Run(ctx, serve.Config{Home: home, Settings: s, Watcher: watcher, Log: log, Parts: parts})
//
// It listens on loopback and on a Unix socket; docs/serve.md is its manual.
package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/bridge/serve/push"
	"lethe/chat"
	"lethe/internal/secret"
)

// Part adds its handlers to the server.
type Part func(mux *http.ServeMux, b *backend.Backend)

// Config names the home that is served, and the parts of the server.
type Config struct {
	Home    report.Home
	Watcher *chat.Watcher // the caller runs it
	User    string        // who signs where a request names nobody
	Log     *slog.Logger
	Parts   []Part

	Settings
	Notices   []string          // who gets notices on the devices that the page lists: one person, or nobody
	Transport http.RoundTripper // to the devices

	// RunStarted has a process run what people start on the page; nil leaves that to whoever runs identities.
	RunStarted func() error
	// Rerun is lethe rerun: what it prints. An error has what it says.
	Rerun func(ctx context.Context, args ...string) ([]byte, error)
	// Archive is as in package backend.
	Archive func(w io.Writer, id home.Identity, copied, workspace bool, to ...string) error
	// Ready is told where the server listens, and can make login links. May be nil.
	Ready func(url string, link func() string)
}

// Run serves until ctx ends, and ends within two seconds then. It fails with bridge.ErrRunning
// when another process serves the home.
func Run(ctx context.Context, config Config) (err error) {
	hub, err := bridge.Open(bridge.Config{
		Home: config.Home.Dir, Name: backend.Name, Watcher: config.Watcher, Log: config.Log,
	})
	if err != nil {
		return err
	}
	defer func() {
		hub.Fail(err)
		err = errors.Join(err, hub.Close())
	}()
	gate, token, err := config.guard()
	if err != nil {
		return err
	}
	mux, done := http.NewServeMux(), make(chan struct{})
	with := &backend.Backend{
		Home: config.Home, Bridge: hub, Watcher: config.Watcher, User: config.User, Log: config.Log, Done: done,
		RunStarted: config.RunStarted, Rerun: config.Rerun, Archive: config.Archive,
	}
	notices, err := config.notices(with)
	if err != nil {
		return err
	}
	for _, add := range append(config.Parts, metrics) {
		add(mux, with)
	}
	if err := config.webhooks(mux, with, gate); err != nil {
		return err
	}
	listeners, url, err := config.listen()
	if err != nil {
		return err
	}
	hub.Listening(url)
	answers := guard.Mux(mux)
	server := gate.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hub.Exchanged()
		answers.ServeHTTP(w, r)
	}))
	server.RegisterOnShutdown(func() { close(done) })
	ready := func() {
		if config.Ready != nil {
			config.Ready(url, func() string { return config.page(url) + guard.Link(token) })
		}
	}
	sendNotices := func(ctx context.Context) error { return push.Run(ctx, notices) }
	return serveAll(ctx, server, listeners, ready, hub.Run, sendNotices)
}

// serveAll serves listeners, and runs what belongs beside them, until ctx ends or a listener fails. It calls ready once
// all runs.
func serveAll(ctx context.Context, server *http.Server, listeners []net.Listener, ready func(),
	beside ...func(context.Context) error) error {
	var group errgroup.Group
	around, end := context.WithCancel(ctx)
	defer end()
	for _, run := range beside {
		group.Go(func() error { return run(around) })
	}
	for _, listener := range listeners {
		group.Go(func() error {
			defer end()
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	ready()
	<-around.Done()
	patience, cancel := context.WithTimeout(context.Background(), time.Second) // for requests under way
	defer cancel()
	if server.Shutdown(patience) != nil {
		_ = server.Close() // a client takes its time
	}
	return group.Wait()
}

// notices returns the notices that devices are sent.
func (c Config) notices(with *backend.Backend) (to push.Config, err error) {
	to = push.Config{Backend: with, Transport: c.Transport}
	if len(c.Notices) == 0 {
		return to, nil
	}
	to.Room = chat.NotifyRoom(c.Notices[0])
	to.Contact = "https://" + append(slices.Clone(c.Hosts), "localhost")[0] // the host of the page is a secret
	to.Key, err = makeToken(PushKeyFile(c.Home.Dir), push.NewKey)
	_, with.PushKey, _ = strings.Cut(to.Key, ".")
	return to, err
}

func (c Config) guard() (*guard.Guard, string, error) {
	token, err := Token(c.Home.Dir)
	if err != nil {
		return nil, "", err
	}
	people := map[string]string{}
	for _, name := range c.People {
		if people[name], err = makeToken(PersonTokenFile(c.Home.Dir, name), newToken); err != nil {
			return nil, "", err
		}
	}
	g, err := guard.New(guard.Config{
		Token: token, People: people, Hosts: c.hosts(), Origins: c.Origins, TLS: c.Cert != "", Log: c.Log,
	})
	if err == nil {
		secret.Add(g.Host) // people paste addresses into rooms, where a command could read it
	}
	return g, token, err
}

func dir(home string) string { return filepath.Join(home, "bridges", backend.Name) }
