package backend

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

func open(t *testing.T, dir string) *Backend {
	t.Helper()
	home, err := home.Open(dir)
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	b, err := bridge.Open(bridge.Config{Home: dir, Name: Name, Watcher: chat.NewWatcher(0, nil)})
	lethetest.Must(t, err)
	t.Cleanup(func() { b.Close() })
	return &Backend{Home: report.Home{Home: home, Store: store}, Bridge: b, User: "ada", Log: slog.New(slog.DiscardHandler)}
}

// A line that is said a hundred times at once, and again after a restart, is one line.
func TestSayOnce(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if said, err := b.Say("k1", "dev", "", "hello\nthere"); err != nil || said.To == 0 || said.Name != "ada" {
				t.Errorf("%+v, %v", said, err)
			}
		})
	}
	all.Wait()
	lethetest.Must(t, b.Bridge.Close())
	b = open(t, dir)
	said, err := b.Say("k1", "dev", "ada", "hello\nthere")
	if err != nil || !said.Repeated || said.From != 0 || said.To == 0 {
		t.Errorf("%+v, %v", said, err)
	}
	if _, err := b.Say("k1", "dev", "ada", "another"); !errors.Is(err, ErrOtherBody) {
		t.Errorf("another text with the same key: %v", err)
	}
	if second, err := b.Say("", "dev", "bob", "hello"); err != nil || second.From != said.To || second.Repeated {
		t.Errorf("%+v, %v", second, err)
	}
	data, err := os.ReadFile(chat.Path(dir, "dev"))
	lethetest.Must(t, err)
	if n := strings.Count(string(data), "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, data)
	}
	for _, bad := range [][2]string{{"../dev", "ada"}, {"dev", "a b"}, {"dev", "x]"}} {
		if _, err := b.Say("", bad[0], bad[1], "x"); Status(err) != http.StatusBadRequest {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRead(t *testing.T) {
	for body, want := range map[string]int{
		`{"text":"x"}`: 200, `{"text":"x"} {}`: 400, `{"txt":"x"}`: 400, `{"text":`: 400, `{"text":"` + strings.Repeat("x", MaxBody) + `"}`: 413,
	} {
		var v struct{ Text string }
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		w := httptest.NewRecorder()
		if err := Read(w, r, &v); err != nil {
			WriteError(w, err)
		}
		if w.Code != want {
			t.Errorf("%.20s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	if err := Read(httptest.NewRecorder(), r, new(struct{})); err != nil {
		t.Errorf("no body: %v", err)
	}
	r = httptest.NewRequest("POST", "/", strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "text/plain") // as a form of another site may send it
	if err := Read(httptest.NewRecorder(), r, new(struct{})); Status(err) != 400 {
		t.Error(err)
	}
}
