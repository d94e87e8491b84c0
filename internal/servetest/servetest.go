// Package servetest is a server for tests of what lethe serve mounts: HTTP on loopback, with
// the guard in front.
//
//	s := servetest.Start(t, func(mux *http.ServeMux) { api.Routes(mux, b) })
//	resp := s.Do(t, "GET", "/api/agents", "")
package servetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/bridge/serve/guard"
	"lethe/internal/lethetest"
)

// Token is the one that a test server asks for.
const Token = "test-token-3fa9c1d2e4b5a6f7"

// Server is a running one.
type Server struct {
	*httptest.Server
	Guard *guard.Guard
}

// Start serves what mount mounts until the test ends.
func Start(t testing.TB, mount func(*http.ServeMux)) *Server {
	t.Helper()
	g, err := guard.New(guard.Config{Token: Token})
	lethetest.Must(t, err)
	mux := http.NewServeMux()
	mount(mux)
	s := &Server{httptest.NewServer(g.Protect(mux)), g}
	t.Cleanup(s.Close)
	return s
}

// Link is where a browser logs in, once.
func (s *Server) Link() string { return s.URL + s.Guard.Link() }

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
