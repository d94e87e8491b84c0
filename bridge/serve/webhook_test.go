package serve_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge/serve"
	"lethe/internal/test/lethetest"
)

// withAda serves a home in which ada lives, with a webhook whose trigger waits in a directory.
func withAda(t *testing.T) (s *server, id home.Identity, drop string) {
	t.Helper()
	c := config(t)
	store, err := blobs.Open(c.Home.Blobs())
	lethetest.Must(t, err)
	c.Home.Store = store
	id, err = home.Boot(c.Home.Home, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	drop = lethetest.Dir(t)
	lethetest.Write(t, filepath.Join(id.Dir, "triggers/gh.toml"), "mail = \""+drop+"\"\n")
	c.Hooks = map[string]serve.Hook{"github": {Agent: "ada", Trigger: "gh"}, "lost": {Agent: "bob", Trigger: "gh"}}
	return start(t, c), id, drop
}

// post delivers a webhook, with a token or headers as "Name: value".
func (s *server) post(t *testing.T, hook, body string, headers ...string) (status int, answer map[string]any) {
	t.Helper()
	r, err := http.NewRequest("POST", s.url+"/hooks/"+hook, strings.NewReader(body))
	lethetest.Must(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	lethetest.Must(t, err)
	defer resp.Body.Close()
	lethetest.Must(t, json.NewDecoder(resp.Body).Decode(&answer))
	return resp.StatusCode, answer
}

func TestWebhook(t *testing.T) {
	s, id, drop := withAda(t)
	token := strings.TrimSpace(lethetest.Read(t, serve.HookTokenFile(s.home, "github")))
	auth := "Authorization: Bearer " + token
	main, err := serve.Token(s.home)
	lethetest.Must(t, err)
	signed := func(body string) string {
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte(body))
		return "X-Hub-Signature-256: sha256=" + hex.EncodeToString(mac.Sum(nil))
	}

	// A delivery that comes a hundred times, at once and after it was taken away, is one file.
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if status, a := s.post(t, "github", `{"zen":1}`, signed(`{"zen":1}`), "X-GitHub-Delivery: 72d3162e-cc78",
				"X-GitHub-Event: push"); status != 202 || a["file"] != "github-72d3162e-cc78.push" {
				t.Errorf("%d %v", status, a)
			}
		})
	}
	all.Wait()
	lethetest.Holds(t, filepath.Join(drop, "github-72d3162e-cc78.push"), `{"zen":1}`)
	lethetest.Must(t, os.Mkdir(filepath.Join(drop, "processed"), 0o700))
	lethetest.Must(t, os.Rename(filepath.Join(drop, "github-72d3162e-cc78.push"), filepath.Join(drop, "processed/github-72d3162e-cc78.push")))
	if status, a := s.post(t, "github", `{"zen":1}`, auth, "X-GitHub-Delivery: 72d3162e-cc78",
		"X-GitHub-Event: push"); status != 202 || a["repeated"] != true {
		t.Errorf("again: %d %v", status, a)
	}
	if list, _ := os.ReadDir(drop); len(list) != 1 {
		t.Errorf("it is there again: %v", list)
	}

	for _, c := range []struct {
		what, hook, body string
		headers          []string
		want             int
	}{
		{"no token", "github", "x", nil, 401},
		{"the token of the server", "github", "x", []string{"Authorization: Bearer " + main}, 401},
		{"the signature of another body", "github", "x", []string{signed("y")}, 401},
		{"a right signature beside a wrong token", "github", "x", []string{signed("x"), "Authorization: Bearer no"}, 401},
		{"a hook that is none", "gitlab", "x", []string{auth}, 401},
		{"another site", "github", "x", []string{auth, "Origin: https://evil.example"}, 403},
		{"GitLab", "github", "x", []string{"X-Gitlab-Token: " + token}, 202},
		{"a name that leads out", "github", "x", []string{auth, "Idempotency-Key: ../../../x", "X-GitHub-Event: ../y"}, 202},
		{"too much", "github", strings.Repeat("x", 10<<20+1), []string{auth}, 413},
	} {
		if status, a := s.post(t, c.hook, c.body, c.headers...); status != c.want || (status >= 400) != (a["error"] != nil) ||
			a["file"] != nil && strings.ContainsAny(a["file"].(string), "/") {
			t.Errorf("%s: %d %v, want %d", c.what, status, a, c.want)
		}
	}

	lost := "Authorization: Bearer " + strings.TrimSpace(lethetest.Read(t, serve.HookTokenFile(s.home, "lost")))
	if status, _ := s.post(t, "lost", "x", lost); status != 404 {
		t.Errorf("without its identity: %d", status)
	}
	link := filepath.Join(lethetest.Dir(t), "link")
	lethetest.Must(t, os.Symlink(drop, link))
	for mail, want := range map[string]int{"inbox": 500, s.home: 500, filepath.Join(id.Dir, "workspace"): 500, link: 500,
		"/nowhere/at/all": 404} {
		lethetest.Write(t, filepath.Join(id.Dir, "triggers/gh.toml"), "mail = \""+mail+"\"\n")
		if status, a := s.post(t, "github", "x", auth); status != want {
			t.Errorf("into %s: %d %v", mail, status, a)
		}
	}
}

// Bodies with the token wait for room: four of the largest are read at once, and the next when one of them is delivered.
func TestBodiesAreBounded(t *testing.T) {
	s, _, _ := withAda(t)
	token := strings.TrimSpace(lethetest.Read(t, serve.HookTokenFile(s.home, "github")))
	const size = 10 << 20
	var slow []net.Conn
	send := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		lethetest.Must(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "POST /hooks/github HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n"+
			"Connection: close\r\n\r\nx", strings.TrimPrefix(s.url, "http://"), token, size)
		lethetest.Must(t, err)
		return conn
	}
	for range 4 {
		slow = append(slow, send())
	}
	time.Sleep(200 * time.Millisecond) // they have their places
	fifth := send()
	answered := make(chan int, 1)
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(fifth), nil)
		if err != nil {
			answered <- 0
			return
		}
		answered <- resp.StatusCode
	}()
	rest := strings.Repeat("x", size-1)
	go func() { _, _ = io.WriteString(fifth, rest) }()
	select {
	case status := <-answered:
		t.Errorf("the fifth is answered at once: %d", status)
	case <-time.After(500 * time.Millisecond):
	}
	_, err := io.WriteString(slow[0], rest)
	lethetest.Must(t, err)
	select {
	case status := <-answered:
		if status != http.StatusAccepted {
			t.Errorf("status %d", status)
		}
	case <-time.After(30 * time.Second):
		t.Error("the fifth is not read when there is room")
	}
}

// dialFrom connects with a server from 127.0.0.N.
func dialFrom(t *testing.T, n byte, url string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}
	conn, err := d.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skip("this machine has one loopback address")
	}
	lethetest.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Strangers who send bodies slowly, under signatures that prove to be wrong, keep no sender with a token waiting.
func TestSlowStrangers(t *testing.T) {
	s, _, _ := withAda(t)
	var strangers []*bufio.ReadWriter
	for i := range 16 {
		conn := dialFrom(t, byte(1+i/4), s.url)
		rw := bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
		rw.WriteString("POST /hooks/github HTTP/1.1\r\nHost: localhost\r\nX-Hub-Signature-256: sha256=00\r\nExpect: " +
			"100-continue\r\nContent-Length: 1\r\n\r\n")
		lethetest.Must(t, rw.Flush())
		if line, err := rw.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
			t.Fatal(line, err)
		}
		strangers = append(strangers, rw)
	}
	if status, a := s.post(t, "github", "x", "Authorization: Bearer "+
		strings.TrimSpace(lethetest.Read(t, serve.HookTokenFile(s.home, "github")))); status != 202 {
		t.Errorf("%d %v", status, a)
	}
	for _, rw := range strangers { // they were not cut off for it
		rw.WriteByte('x')
		lethetest.Must(t, rw.Flush())
		_, err := rw.ReadString('\n')
		line, lerr := rw.ReadString('\n')
		if err != nil || lerr != nil || !strings.HasPrefix(line, "HTTP/1.1 401") && !strings.HasPrefix(line, "HTTP/1.1 429") {
			t.Fatal(line, err, lerr)
		}
	}
}

// Strangers who drip signed bodies from one address hold up no signed delivery from another one.
func TestDrippingStrangers(t *testing.T) {
	s, _, drop := withAda(t)
	dialFrom(t, 2, s.url)
	for range 40 {
		_, err := dialFrom(t, 1, s.url).Write([]byte("POST /hooks/github HTTP/1.1\r\nHost: localhost\r\nX-Hub-Signature-256: " +
			"sha256=00\r\nContent-Length: 1000\r\n\r\nx"))
		lethetest.Must(t, err)
	}
	from := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dialFrom(t, 2, s.url), nil }}
	defer from.CloseIdleConnections()
	mac := hmac.New(sha256.New, []byte(strings.TrimSpace(lethetest.Read(t, serve.HookTokenFile(s.home, "github")))))
	mac.Write([]byte("the build is green"))
	for i := range 40 { // the strangers have all come by then
		r, err := http.NewRequest("POST", s.url+"/hooks/github", strings.NewReader("the build is green"))
		lethetest.Must(t, err)
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		r.Header.Set("Idempotency-Key", fmt.Sprint(i))
		resp, err := (&http.Client{Transport: from, Timeout: 10 * time.Second}).Do(r)
		lethetest.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != 202 {
			t.Fatalf("%s", resp.Status)
		}
	}
	if list, _ := os.ReadDir(drop); len(list) != 40 {
		t.Errorf("%d deliveries have arrived", len(list))
	}
}

// Prometheus's text format: two lines about a metric, and its samples behind them.
var (
	describes = regexp.MustCompile(`^# (?:HELP (lethe_[a-z_]+) \S.*|TYPE (lethe_[a-z_]+) (?:gauge|counter))$`)
	sample    = regexp.MustCompile(`^(lethe_[a-z_]+)(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (\S+)$`)
)

// What Prometheus reads.
func TestMetrics(t *testing.T) {
	s, _, _ := withAda(t)
	token, err := serve.Token(s.home)
	lethetest.Must(t, err)
	doc := lethetest.Page(t, "serve.md")
	for range 2 {
		resp := s.get(t, "/metrics", token, true)
		lethetest.Equal(t, "the metrics", resp.Header.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
		text, err := io.ReadAll(resp.Body)
		lethetest.Must(t, err)
		page := string(text)
		values := map[string]float64{}
		about := ""
		for line := range strings.Lines(page) {
			line = strings.TrimSuffix(line, "\n")
			if m := describes.FindStringSubmatch(line); m != nil {
				about = m[1] + m[2]
				continue
			}
			m := sample.FindStringSubmatch(line)
			if m == nil || m[1] != about || !strings.Contains(doc, "`"+about+"`") {
				t.Fatalf("docs/serve.md does not tell of %q, or it is no sample of %s", line, about)
			}
			values[about], err = strconv.ParseFloat(m[2], 64)
			lethetest.Must(t, err)
		}
		lethetest.Words(t, page, `lethe_agent_up{agent="ada",state="stopped"} 0`,
			`lethe_tokens_total{agent="ada",kind="cached"} 0`, `lethe_debts{agent="ada",kind="post"} 0`,
			`lethe_bridge_healthy{bridge="serve",state="running"} 1`)
		none, known := values["lethe_epochs_total"]
		if values["lethe_unreadable"] != 0 || none != 0 || !known {
			t.Errorf("the metrics are\n%s", page)
		}
	}
}
