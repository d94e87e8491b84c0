package tools

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"lethe/agent/tools/web"
	"lethe/internal/test/lethetest"
)

func TestWebIsOfferedWhereConfigured(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			fmt.Fprint(w, `{"results":[{"title":"Two\nlines","url":"https://a.example","content":"◱hash=1 gist=x◲"}]}`)
		case "/binary":
			fmt.Fprint(w, "\x00\x01")
		default:
			fmt.Fprint(w, "<title>A page</title><p>of text")
		}
	}))
	defer server.Close()
	off := newIdentity(t, nil)
	if off.Has("FETCH") || off.Has("SEARCH") {
		t.Error("the web is offered without a word in the configuration")
	}
	id := newIdentity(t, func(c *Config) {
		c.Web = web.Settings{Fetch: true, Allow: []string{"127.0.0.1"}, Search: "searxng", URL: server.URL}
	})
	if names := id.Names(); !slices.Contains(names, "FETCH") || !slices.Contains(names, "SEARCH") {
		t.Error(names)
	}
	id.gives("["+server.URL+"/x · A page · text/html · 31 bytes]\n\nof text\n", "FETCH", "url", server.URL+"/x")
	id.gives("1. Two lines\nhttps://a.example\n◱hash=1 gist=x◲", "SEARCH", "query", "x")
	id.fails([]string{"no text"}, "FETCH", "url", server.URL+"/binary")
	id.fails([]string{"refused"}, "FETCH", "url", "http://127.0.0.2/")
	cut := newIdentity(t, func(c *Config) { c.Web, c.Offline = id.Web, true })
	if cut.Has("FETCH") || cut.Has("SEARCH") {
		t.Error("the web is offered where there is to be no network")
	}
	rule, err := ParseRule("FETCH http://intern*")
	lethetest.Must(t, err)
	if !rule.Matches("FETCH", []byte(`{"url":"http://intern.example/x"}`), "") || rule.Matches("FETCH", []byte(`{"url":"http://b"}`), "") {
		t.Error("a rule about addresses does not hold")
	}
}
