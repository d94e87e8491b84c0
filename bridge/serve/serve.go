// Package serve runs the HTTP server of lethe serve: a bridge to which the other side comes. It reads the
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
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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
	// Ready is told where the server listens, and can make login links. May be nil.
	Ready func(url string, link func() string)
}

// Run serves until ctx ends, and ends within two seconds then. It fails with bridge.ErrRunning
// when another process serves the home.
func Run(ctx context.Context, c Config) (err error) {
	b, err := bridge.Open(bridge.Config{Home: c.Home.Dir, Name: backend.Name, Watcher: c.Watcher, Log: c.Log})
	if err != nil {
		return err
	}
	defer func() {
		b.Fail(err)
		err = errors.Join(err, b.Close())
	}()
	g, token, err := c.guard()
	if err != nil {
		return err
	}
	mux, done := http.NewServeMux(), make(chan struct{})
	with := &backend.Backend{
		Home: c.Home, Bridge: b, Watcher: c.Watcher, User: c.User, Log: c.Log, Done: done, RunStarted: c.RunStarted,
	}
	notices, err := c.notices(with)
	if err != nil {
		return err
	}
	for _, add := range append(c.Parts, metrics) {
		add(mux, with)
	}
	if err := c.webhooks(mux, with, g); err != nil {
		return err
	}
	listeners, url, err := c.listen()
	if err != nil {
		return err
	}
	b.Listening(url)
	answers := guard.Mux(mux)
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.Exchanged()
		answers.ServeHTTP(w, r)
	})
	srv := g.Server(known)
	var group errgroup.Group
	around, end := context.WithCancel(ctx)
	defer end()
	group.Go(func() error { return b.Run(around) })
	group.Go(func() error { return push.Run(around, notices) })
	for _, l := range listeners {
		group.Go(func() error {
			defer end() // a listener that fails ends all
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	if c.Ready != nil {
		c.Ready(url, func() string { return c.page(url) + guard.Link(token) })
	}
	<-around.Done()
	close(done)
	patience, cancel := context.WithTimeout(context.Background(), time.Second) // for requests under way
	defer cancel()
	if srv.Shutdown(patience) != nil {
		_ = srv.Close() // a client takes its time
	}
	return group.Wait()
}

// notices returns the notices that devices are sent.
func (c Config) notices(b *backend.Backend) (to push.Config, err error) {
	to = push.Config{Backend: b, Transport: c.Transport}
	if len(c.Notices) == 0 {
		return to, nil
	}
	to.Room = chat.NotifyRoom(c.Notices[0])
	to.Contact = "https://" + append(slices.Clone(c.Hosts), "localhost")[0] // the host of the page is a secret
	to.Key, err = makeToken(PushKeyFile(c.Home.Dir), push.NewKey)
	_, b.PushKey, _ = strings.Cut(to.Key, ".")
	return to, err
}

func (c Config) guard() (*guard.Guard, string, error) {
	token, err := Token(c.Home.Dir)
	if err != nil {
		return nil, "", err
	}
	g, err := guard.New(guard.Config{Token: token, Hosts: c.hosts(), Origins: c.Origins, TLS: c.Cert != "", Log: c.Log})
	if err == nil {
		secret.Add(g.Host) // from what people paste into a room, a command could know it
	}
	return g, token, err
}

func dir(home string) string { return filepath.Join(home, "bridges", backend.Name) }
