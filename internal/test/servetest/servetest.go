// Package servetest is a server for tests of the parts of lethe serve: a home, and HTTP on
// loopback with the guard in front.
//
//	s := servetest.Start(t, t.TempDir(), api.Routes)
//	text := servetest.Text(t, s.Do(t, "GET", "/api/agents", ""), 200)
package servetest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// Token opens a test server.
const Token = "test-token-3fa9c1d2e4b5a6f7"

// AnnToken is ann's own.
const AnnToken = "test-token-of-ann-8d2c4e6f"

// Server is a running one.
type Server struct {
	*httptest.Server
	Guard   *guard.Guard
	Backend *backend.Backend
}

// Start serves the home in dir until the test ends. You are "you" there.
func Start(t testing.TB, dir string, parts ...func(*http.ServeMux, *backend.Backend)) *Server {
	t.Helper()
	home, err := home.Open(dir)
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	watcher := chat.NewWatcher(0, nil)
	b, err := bridge.Open(bridge.Config{Home: dir, Name: backend.Name, Watcher: watcher})
	lethetest.Must(t, err)
	g, err := guard.New(guard.Config{Token: Token, People: map[string]string{"ann": AnnToken}})
	lethetest.Must(t, err)
	done, mux := make(chan struct{}), http.NewServeMux()
	s := &Server{Guard: g, Backend: &backend.Backend{
		Home: report.Home{Home: home, Store: store, People: []string{"you"}}, Bridge: b, Watcher: watcher, User: "you",
		Log: slog.New(slog.DiscardHandler), Done: done,
	}}
	for _, add := range parts {
		add(mux, s.Backend)
	}
	s.Server = httptest.NewServer(g.Protect(guard.Mux(mux)))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Run(ctx) }() // ends with ctx
	t.Cleanup(func() {
		close(done)
		s.CloseClientConnections()
		s.Close()
		cancel()
		lethetest.Must(t, <-ended)
		lethetest.Must(t, b.Close())
	})
	return s
}

// Page is the address at which a browser has the page.
func (s *Server) Page() string { return strings.Replace(s.URL, "127.0.0.1", s.Guard.Host, 1) }

// Link is the address that logs a browser in, once.
func (s *Server) Link() string { return s.Page() + guard.Link(Token) }

// Do sends a request with the token, or with what headers say in its place: "Name: value"; one
// without a value takes the header away. A body is JSON, unless headers say otherwise.
func (s *Server) Do(t testing.TB, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	lethetest.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+Token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		if value = strings.TrimSpace(value); value == "" {
			r.Header.Del(name)
		} else if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	resp, err := s.Client().Do(r)
	lethetest.Must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Text reads the body of an answer, and fails the test unless it has this status.
func Text(t testing.TB, resp *http.Response, status int) string {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	lethetest.Must(t, err)
	if resp.StatusCode != status {
		t.Fatalf("%s %s: %s, want %d:\n%.2000s", resp.Request.Method, resp.Request.URL.Path, resp.Status, status, text)
	}
	return string(text)
}
