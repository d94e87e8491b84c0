package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

// server is one that runs in a test.
type server struct {
	home, url string
	link      func() string
	stop      func() error // returns what Run does
}

func config(t *testing.T) serve.Config {
	home, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	return serve.Config{Home: report.Home{Home: home}, Settings: serve.Settings{Address: "127.0.0.1:0"},
		Watcher: chat.NewWatcher(0, nil), Log: slog.New(slog.DiscardHandler)}
}

func start(t *testing.T, c serve.Config) *server {
	t.Helper()
	s := &server{home: c.Home.Dir}
	ready, ended := make(chan struct{}), make(chan error, 1)
	c.Ready = func(url string, link func() string) { s.url, s.link = url, link; close(ready) }
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- serve.Run(ctx, c) }() // ends with ctx
	s.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("it ends: %v", err)
	}
	t.Cleanup(func() { s.stop() }) // it writes in the home to its end
	return s
}

// get asks with the token of the home, over the socket or not.
func (s *server) get(t *testing.T, path, token string, socket bool) *http.Response {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if socket {
		c.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.home, "bridges/serve/socket"))
		}}
	}
	r, err := http.NewRequest("GET", s.url+path, nil)
	lethetest.Must(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(r)
	lethetest.Must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// The server, on loopback and on its socket, is for whoever can read the token file.
func TestServe(t *testing.T) {
	c := config(t)
	streaming := make(chan struct{})
	c.Notices = []string{"Grace"}
	c.Parts = []serve.Part{func(mux *http.ServeMux, b *backend.Backend) {
		if len(b.PushKey) != 87 {
			t.Errorf("browsers subscribe with %q", b.PushKey)
		}
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
		mux.HandleFunc("POST /only", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("GET /stream", func(w http.ResponseWriter, _ *http.Request) {
			http.NewResponseController(w).Flush()
			close(streaming)
			<-b.Done
		})
	}}
	s := start(t, c)
	token := strings.TrimSpace(lethetest.Read(t, serve.TokenFile(s.home)))
	if key := lethetest.Read(t, serve.PushKeyFile(s.home)); !strings.Contains(secret.Text("it is "+key), "[secret") {
		t.Error("the key for push is not struck out")
	}
	for _, name := range []string{"token", "socket", "push.key"} {
		if fi, err := os.Stat(filepath.Join(s.home, "bridges/serve", name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, fi.Mode(), err)
		}
	}
	for _, socket := range []bool{false, true} {
		if got := s.get(t, "/", token, socket).StatusCode; got != 200 {
			t.Errorf("socket %v, with the token: %d", socket, got)
		}
		if resp := s.get(t, "/nothing/here", token, socket); resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("socket %v, what is not there: %s %v", socket, resp.Status, resp.Header)
		}
		if got := s.get(t, "/", "", socket).StatusCode; got != 401 {
			t.Errorf("socket %v, without: %d", socket, got)
		}
		for i := range 12 {
			if got := s.get(t, "/", "wrong", socket).StatusCode; got != 401 && i < 10 || got != 429 && i >= 10 {
				t.Errorf("socket %v, the wrong one no. %d: %d", socket, i+1, got)
			}
		}
		if got := s.get(t, "/healthz", "", socket).StatusCode; got != 200 {
			t.Errorf("socket %v, health: %d", socket, got)
		}
	}
	if resp := s.get(t, "/only", token, true); resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST" ||
		resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("another method: %s %v", resp.Status, resp.Header)
	}
	if link := s.link(); !strings.HasPrefix(link, s.url+"/login?once=") {
		t.Errorf("the link is %s", link)
	}
	link, err := serve.Link(c)
	if _, path, ok := strings.Cut(link, "/login"); err != nil || !ok || s.get(t, "/login"+path, "", false).StatusCode != 303 ||
		s.get(t, "/login"+path, "", false).StatusCode != 403 {
		t.Errorf("the link that it gives another process is %s, %v", link, err)
	}
	proxied := c
	proxied.Hosts = []string{"lethe.example.org"}
	if link, err := serve.Link(proxied); err != nil || !strings.HasPrefix(link, "https://lethe.example.org/login?once=") {
		t.Errorf("behind a proxy the link is %s, %v", link, err)
	}
	if err := serve.Run(t.Context(), c); !errors.Is(err, bridge.ErrRunning) {
		t.Errorf("a second one: %v", err)
	}
	all, err := bridge.ReadHealth(s.home)
	if err != nil || len(all) != 1 || all[0].State != bridge.Running || all[0].Ailment() != "" {
		t.Errorf("health %+v, %v", all, err)
	}
	stream := s.get(t, "/stream", token, false)
	<-streaming
	var stopped error
	took := lethetest.Took(func() { stopped = s.stop() })
	lethetest.Must(t, stopped)
	if took > 1500*time.Millisecond {
		t.Errorf("it stops in %v", took)
	}
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream does not end well: %v", err)
	}
	again := config(t)
	again.Home = c.Home
	lethetest.Equal(t, "the token after a restart", start(t, again).get(t, "/", token, true).StatusCode, 404)
}

// allHere takes each name for one of this machine, as browsers do with what ends in .localhost.
func allHere() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}}
}

// A command in the sandbox can listen on another port, and a redirect can lead the browser there by every name that the
// command can know. What it is sent then lets it in nowhere.
func TestThief(t *testing.T) {
	c := config(t)
	c.Parts = []serve.Part{func(mux *http.ServeMux, _ *backend.Backend) {
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "all that you may do") })
	}}
	s := start(t, c)
	here := allHere()
	defer here.CloseIdleConnections()
	jar, err := cookiejar.New(nil)
	lethetest.Must(t, err)
	browser := &http.Client{Transport: here, Jar: jar}
	do := func(client *http.Client, address string, cookies ...*http.Cookie) (status int, told string, at *url.URL) {
		r, err := http.NewRequest("GET", address, nil)
		lethetest.Must(t, err)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		resp, err := client.Do(r)
		lethetest.Must(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		lethetest.Must(t, err)
		return resp.StatusCode, fmt.Sprint(resp.Header, string(text)), resp.Request.URL
	}
	status, _, at := do(browser, s.link())
	page, port := at.Hostname(), at.Port()
	if again, _, _ := do(browser, "http://"+at.Host+"/"); status != 200 || again != 200 {
		t.Fatalf("the browser is let in with %d, then %d", status, again)
	}
	var loot []*http.Cookie
	names := []string{"localhost", "127.0.0.1", "127.0.0.2", "lethe.localhost", "ada.localhost"}
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loot = append(loot, r.Cookies()...)
		if next := slices.Index(names, strings.Split(r.Host, ":")[0]) + 1; next < len(names) {
			_, port, _ := net.SplitHostPort(r.Host)
			http.Redirect(w, r, "http://"+names[next]+":"+port, http.StatusFound)
		}
	}))
	defer thief.Close()
	if status, _, at := do(browser, thief.URL); status != 200 || at.Hostname() != names[len(names)-1] {
		t.Fatalf("the browser ends at %s with %d", at, status)
	}
	if slices.Contains(names, page) {
		t.Errorf("a command can know that the page is at %s", page)
	}
	lethetest.Must(t, filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(lethetest.Read(t, path), page) {
			t.Errorf("%s names the page's host", path)
		}
		return err
	}))
	if len(loot) > 0 {
		t.Errorf("the thief is sent %v", loot)
	}
	loot = append(loot, jar.Cookies(at)...) // also the cookie itself is of no use where the page is not
	for _, name := range names {
		for _, path := range []string{"/", "/api/agents", "/login", "/login?once=x", "/healthz"} {
			status, told, _ := do(&http.Client{Transport: here}, "http://"+name+":"+port+path, loot...)
			if status < 400 && path != "/healthz" || strings.Contains(told, page) {
				t.Errorf("a thief gets %d at %s%s: %s", status, name, path, told)
			}
		}
	}
}

// A client that opens a stream and reads nothing, one that sends half a request, and one that
// sends nothing at all do not keep the server from ending.
func TestEndsWithSilentClients(t *testing.T) {
	c := config(t)
	begun := make(chan struct{}, 2)
	c.Parts = []serve.Part{func(mux *http.ServeMux, b *backend.Backend) {
		mux.HandleFunc("GET /flood", func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		})
		mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			_, _ = io.ReadAll(r.Body)
		})
	}}
	s := start(t, c)
	token, err := serve.Token(s.home)
	lethetest.Must(t, err)
	for _, text := range []string{"", "GET / HT", "GET /flood HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nAuthorization: Bearer " + token + "\r\n\r\nhalf"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		lethetest.Must(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(text))
		lethetest.Must(t, err)
	}
	<-begun
	<-begun
	var stopped error
	took := lethetest.Took(func() { stopped = s.stop() })
	lethetest.Must(t, stopped)
	if took > 1900*time.Millisecond {
		t.Errorf("it stops in %v", took)
	}
}

// What cannot be served is one clear error.
func TestRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on this machine")
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for what, change := range map[string]func(*serve.Config){
		"without TLS":                         func(c *serve.Config) { c.Address = "0.0.0.0:0" },
		"not an address with a port":          func(c *serve.Config) { c.Address = "localhost" },
		"address already in use":              func(c *serve.Config) { c.Address = "127.0.0.1:" + port },
		"something else is there":             func(c *serve.Config) { c.Socket = c.Home.Dir },
		"read the certificate":                func(c *serve.Config) { c.Cert, c.Key = "/none", "/none" },
		"not of the form https://example.org": func(c *serve.Config) { c.Origins = []string{"*"} },
		"does not hold one of at least 16":    func(c *serve.Config) { lethetest.Write(t, serve.TokenFile(c.Home.Dir), "short\n") },
		"others can open": func(c *serve.Config) {
			lethetest.Write(t, serve.TokenFile(c.Home.Dir), "0123456789abcdef\n")
			os.Chmod(serve.TokenFile(c.Home.Dir), 0o644)
		},
	} {
		c := config(t)
		change(&c)
		if err := serve.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if all, _ := bridge.ReadHealth(c.Home.Dir); len(all) != 1 || all[0].State != bridge.Dead {
			t.Errorf("%s: health %+v", what, all)
		}
	}
	c := config(t)
	c.Address, c.Unencrypted = "0.0.0.0:0", true
	lethetest.Must(t, start(t, c).stop())
}

// The link to an address that is given by name is no stranger's.
func TestNamedAddress(t *testing.T) {
	name, err := os.Hostname()
	lethetest.Must(t, err)
	if l, err := net.Listen("tcp", net.JoinHostPort(name, "0")); err != nil {
		t.Skip("this machine does not know its name")
	} else {
		l.Close()
	}
	c := config(t)
	c.Address, c.Unencrypted = net.JoinHostPort(name, "0"), true
	s := start(t, c)
	resp, err := http.Get(s.link())
	lethetest.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("%s: %s", s.url, resp.Status)
	}
	lethetest.Must(t, s.stop())
}
