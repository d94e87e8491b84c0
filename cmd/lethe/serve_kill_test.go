//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// served is a home with a lethe serve that tests kill, and its client, by the Unix socket.
type served struct {
	*testing.T
	home   string
	trace  string // a file for the writes of the server
	client *http.Client
	server *exec.Cmd
	gone   chan struct{} // closed when server has ended
}

func newServed(t *testing.T) *served {
	home := lethetest.Dir(t)
	s := &served{T: t, home: home, client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(home, "bridges", "serve", "socket"))
		},
	}}}
	t.Cleanup(s.kill)
	return s
}

// lethe starts the program, which dies at a moment if one is given.
func (s *served) lethe(death string, arg ...string) (*exec.Cmd, chan struct{}) {
	cmd := bare(s, s.home, []string{killAt + "=" + death, traceTo + "=" + s.trace}, arg...)
	return cmd, begin(s, cmd)
}

func (s *served) start(death string) {
	s.server, s.gone = s.lethe(death, "serve", "--addr", "127.0.0.1:0")
}

// dead says whether the server has died.
func (s *served) dead() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

func (s *served) kill() {
	if s.server != nil {
		end(s.server, s.gone)
	}
}

// do sends a request, until a server answers it; one that is dead is started anew.
func (s *served) do(ctx context.Context, mu *sync.Mutex, method, path, body string, headers ...string) *http.Response {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		mu.Lock()
		if s.dead() {
			s.start("")
		}
		mu.Unlock()
		token, err := os.ReadFile(filepath.Join(s.home, "bridges", "serve", "token"))
		if err != nil { // it was not made yet
			continue
		}
		r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
		lethetest.Must(s, err)
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if resp, err := s.client.Do(r); err == nil {
			return resp
		}
	}
	s.Error("no server answers")
	return nil
}

// TestSaidOnceOverKills says a line a hundred times with one key, from ten clients, while the server
// is killed before or after a write. Whatever the moment, it is one line. It tries a sample of the
// moments; all of them with LETHE_LONG=1.
func TestSaidOnceOverKills(t *testing.T) {
	lethetest.Unraced(t)
	try := func(moment, trace string) {
		s := newServed(t)
		s.trace = trace
		defer s.kill()
		s.start(moment)
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 10 {
					resp := s.do(t.Context(), &mu, "POST", "/api/rooms/dev/lines", `{"text":"once"}`, "Idempotency-Key", "k1")
					if resp == nil {
						return
					}
					text, err := io.ReadAll(resp.Body) // that of a server which dies is cut off
					resp.Body.Close()
					if err == nil && (resp.StatusCode != 202 || !bytes.Contains(text, []byte(`"hash"`))) {
						t.Errorf("%s: %s: %s", moment, resp.Status, text)
					}
				}
			})
		}
		all.Wait()
		if text := lethetest.Read(t, chat.Path(s.home, "dev")); strings.Count(text, "once") != 1 || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: the room is\n%s", moment, text)
		}
	}
	trace := filepath.Join(t.TempDir(), "trace")
	try("", trace)
	writes := strings.Count(lethetest.Read(t, trace), "\n")
	step := lethetest.Sample(9, 5, 1)
	for n := 1 + lethetest.Day()%step; n <= writes; n += step {
		for _, when := range []string{"before", "after"} {
			lethetest.Tried(t, 1)
			try(fmt.Sprintf("%s:%d", when, n), "")
		}
	}
}

// TestEventsOverKills follows a life over HTTP while the client leaves and the server is killed
// again and again. What it saw is what the log says, each event once, in order.
func TestEventsOverKills(t *testing.T) {
	lethetest.Unraced(t)
	total := lethetest.Sample(60, 120, 1000)
	s := newServed(t)
	life, ended := s.lethe("", "run", "--offline", "--name", "ada", "--room", "dev")
	defer end(life, ended)
	home, err := home.Open(s.home)
	lethetest.Must(t, err)
	lethetest.Eventually(t, "ada is there", func() bool { _, err := home.Find("ada"); return err == nil })
	say := func(n int) {
		line, err := chat.Format(false, "ann", time.Now(), fmt.Sprintf("what is %d+1?", n))
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(s.home, "dev"), line)
		lethetest.Must(t, err)
	}
	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 0))
	var seen []string
	last, turns, left, killed := "0", 1, 0, 0
	say(0)
	s.start("")
	for len(seen) < total && !t.Failed() {
		ctx, leave := context.WithCancel(t.Context())
		resp := s.do(ctx, new(sync.Mutex), "GET", "/api/agents/ada/events", "", "Last-Event-ID", last)
		if resp == nil {
			leave()
			break
		}
		r := bufio.NewReader(resp.Body)
		for stay, silent := dice.IntN(20), 0; ; stay-- {
			id, kind, data, err := nextEvent(r)
			if err != nil {
				break
			}
			if silent++; id+kind != "" {
				silent = 0
			} else if silent == 5 { // a sign of life each 15 seconds, and nothing else
				t.Fatalf("seed %d: nothing comes behind event %s", seed, last)
			}
			if id != "" && kind != "" {
				seen, last = append(seen, data), id
			}
			if kind == events.TurnEnd {
				say(turns)
				turns++
			}
			if stay <= 0 && dice.IntN(2) == 0 {
				left++
				break
			}
			if stay <= 0 {
				killed++
				s.kill() // and go on with what has come
			}
		}
		leave()
		resp.Body.Close()
	}
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	id, err := home.Find("ada")
	lethetest.Must(t, err)
	stream, err := events.Open(store, events.Log{Path: id.LIFE(), Name: "ada"}, "")
	lethetest.Must(t, err)
	defer stream.Close()
	for i, got := range seen {
		e, err := stream.Next()
		lethetest.Must(t, err)
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		lethetest.Must(t, enc.Encode(e))
		if got+"\n" != want.String() {
			t.Fatalf("seed %d: event %d was seen as\n%s\nand is\n%s", seed, i, got, want.String())
		}
	}
	t.Logf("%d events of %d turns; the client left %d times, the server was killed %d times", len(seen), turns, left, killed)
}

// nextEvent reads an event as a browser does: one that is cut off is none. Of a block without data
// the id counts.
func nextEvent(r *bufio.Reader) (id, kind, data string, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "":
			return id, kind, data, nil
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		}
	}
}
