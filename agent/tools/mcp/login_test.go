package mcp

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/oauthtest"
)

func newGuarded(t *testing.T) *oauthtest.Server {
	return oauthtest.New(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() },
		&sdk.StreamableHTTPOptions{Stateless: true}))
}

// far is the servers of a home with the guarded one.
func far(t *testing.T, g *oauthtest.Server, home string) *Servers {
	return servers(t, home, map[string]Server{"far": {URL: g.URL + "/mcp"}})
}

// What a server elsewhere names for the login may not lie on this machine or in its networks.
func TestAuthorityElsewhere(t *testing.T) {
	asked := false
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer here.Close()
	s := &server{Server: Server{URL: "https://192.0.2.1/mcp"}, name: "far"}
	for _, address := range []string{here.URL, strings.Replace(here.URL, "127.0.0.1", "localhost", 1)} {
		if answer, err := s.authority().Get(address + "/token"); err == nil || !strings.Contains(err.Error(), "an address of this machine") {
			t.Error(answer, err)
		}
	}
	s.URL = here.URL + "/mcp"
	answer, err := s.authority().Get(here.URL + "/token")
	lethetest.Must(t, err)
	answer.Body.Close()
	if !asked {
		t.Error("a server on this machine may not name itself")
	}
}

// People log in once. The token is kept, refreshed when it has expired or is refused, and known as a secret.
func TestLogin(t *testing.T) {
	g, home := newGuarded(t), t.TempDir()
	const echo = `{"text":"hello"}`
	before := far(t, g, home)
	const login = "401 Unauthorized: people have to run: lethe mcp login far"
	if got := use(before, "far/echo", echo); !strings.Contains(got, login) {
		t.Fatal(got)
	}
	items, _, err := far(t, g, home).Test(t.Context(), "far", func(address string) string { return " " + oauthtest.Browse(t, address) + "\n" })
	lethetest.Must(t, err)
	if names(items) != strings.ReplaceAll(goodTools, "good/", "far/") {
		t.Error(names(items))
	}
	file := home + "/mcp/far.token.json"
	fi, err := os.Stat(file)
	lethetest.Must(t, err)
	lethetest.Words(t, lethetest.Read(t, file), oauthtest.Token(1), `"url": "`+g.URL+`/mcp"`)
	if fi.Mode().Perm() != 0o600 {
		t.Error(fi.Mode())
	}
	// Who ran already uses it, without being started again.
	before.all[0].resume = before.all[0].resume.Add(-time.Hour)
	if got := use(before, "far/echo", echo); got != "you said hello" {
		t.Error(got)
	}
	// The server refuses it before its time: it is refreshed.
	g.Revoked.Store(1)
	if got := use(before, "far/echo", echo); got != "you said hello" || g.Issued.Load() != 2 {
		t.Error(g.Issued.Load(), got)
	}
	// Two processes meet its end in the same instant: one refreshes it.
	two := []*Servers{before, far(t, g, home)}
	use(two[1], "far/echo", echo)
	g.Revoked.Store(2)
	var both sync.WaitGroup
	for _, one := range two {
		both.Go(func() {
			if got := use(one, "far/echo", echo); got != "you said hello" {
				t.Error(got)
			}
		})
	}
	if both.Wait(); g.Issued.Load() != 3 {
		t.Error(g.Issued.Load(), "tokens")
	}
	// From now on each has expired when it comes.
	g.Lasts.Store(1)
	g.Revoked.Store(3)
	if got := use(before, "far/echo", echo); got != "you said hello" || g.Issued.Load() < 4 {
		t.Error(g.Issued.Load(), got)
	}
	old := g.Issued.Load()
	if got := use(far(t, g, home), "far/echo", echo); got != "you said hello" || g.Issued.Load() == old {
		t.Error(g.Issued.Load(), got)
	}
	n := g.Issued.Load()
	lethetest.Words(t, lethetest.Read(t, file), oauthtest.Token(n))
	for _, key := range []string{oauthtest.Token(n), oauthtest.Refresh(n)} {
		if secret.Text(key) == key {
			t.Error("not known as a secret:", key)
		}
	}
	// It is sent to its own address only.
	stranger := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stranger += r.Header.Get("Authorization") }))
	use(servers(t, home, map[string]Server{"far": {URL: other.URL + "/mcp"}}), "far/echo", echo)
	other.CloseClientConnections()
	other.Close()
	if stranger != "" {
		t.Error("another server was told", stranger)
	}
	// What is not refreshed any more needs people.
	g.Ended.Store(true)
	if got := use(far(t, g, home), "far/echo", echo); !strings.Contains(got, login) || strings.Contains(got, "token-number") {
		t.Error(got)
	}
}

// What was not allowed leaves no token, and says why.
func TestLoginRefused(t *testing.T) {
	g, home := newGuarded(t), t.TempDir()
	for name, c := range map[string]struct {
		authorize string
		paste     func(address string) string
		want      string
	}{
		"end of input": {"", func(string) string { return "" }, "does not answer that address"},
		"other state": {"", func(a string) string { return oauthtest.Browse(t, strings.Replace(a, "state=", "state=x", 1)) },
			"does not answer that address"},
		"denied":     {"", func(a string) string { return redirect + "?error=access_denied&state=x" }, "(access_denied)"},
		"wrong code": {"", func(string) string { return "another-code" }, "invalid_grant"},
		"javascript": {"javascript://localhost/%0aalert(1)", nil, "javascript"},
		"file":       {"file://localhost/etc/passwd", nil, "neither https nor on this machine"},
		"plain":      {"http://far.example/authorize", nil, "http://far.example"},
	} {
		g.Authorize = c.authorize
		_, _, err := far(t, g, home).Test(t.Context(), "far", func(address string) string {
			if c.paste == nil {
				t.Errorf("%s: people were shown %s", name, address)
				return ""
			}
			return c.paste(address)
		})
		if err == nil || !strings.HasPrefix(err.Error(), "log in to far: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(home + "/mcp/far.token.json"); err == nil {
		t.Error("a token is kept")
	}
	open := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer open.Close()
	defer open.CloseClientConnections()
	s := servers(t, home, map[string]Server{"open": {URL: open.URL}})
	if _, _, err := s.Test(t.Context(), "open", browserless); err == nil || !strings.Contains(err.Error(), "it asks for no login") {
		t.Error(err)
	}
	g.Authorize = ""
	_, _, err := far(t, g, home).Test(t.Context(), "far", func(address string) string {
		u, err := url.Parse(oauthtest.Browse(t, address))
		lethetest.Must(t, err)
		return u.Query().Get("code")
	})
	lethetest.Must(t, err) // the code alone will do
}

func browserless(string) string { return "" }
