package telegram

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/bridge"
	"lethe/internal/durable"
	"lethe/internal/lethetest"
)

// session is a session that does not run.
func (st *stage) session() (*session, *bridge.Bridge) {
	st.t.Helper()
	c := st.cfg.defaults()
	hub, err := bridge.Open(bridge.Config{Home: st.home, Name: Name, Log: c.Log, Watcher: c.Watcher})
	lethetest.Must(st.t, err)
	s, err := newSession(c, hub, func(error) {})
	lethetest.Must(st.t, err)
	return s, hub
}

func open(t *testing.T, dir string) *chats {
	t.Helper()
	c, err := openChats(dir, slog.New(slog.DiscardHandler))
	lethetest.Must(t, err)
	return c
}

// Each write of chats.json fails, and is lost or persists all the same: what was known before is
// known after a restart, and what succeeded is too.
func TestChatsAreDurable(t *testing.T) {
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for _, op := range []string{"write", "sync", "rename", "syncdir"} {
			dir := t.TempDir()
			c := open(t, dir)
			lethetest.Must(t, errors.Join(c.move("-1", "-100"), c.setThread("-1", 7), c.ask("5", time.Now())))
			fault := errors.New("broken")
			durable.Fault = func(s durable.Stage, o, path string) error {
				if s == stage && o == op && (op == "syncdir" || strings.HasSuffix(path, "chats.json")) {
					return fault
				}
				return nil
			}
			err := c.setThread("-1", 8)
			durable.Fault = nil
			if !errors.Is(err, fault) {
				t.Errorf("%s %s: %v", stage, op, err)
			}
			equal(t, "thread after a failure", c.thread("-1"), 7)
			again := open(t, dir)
			if got := again.thread("-1"); got != 7 && got != 8 {
				t.Errorf("%s %s: thread %d after a restart", stage, op, got)
			}
			equal(t, "canonical", again.canonical("-100"), "-1")
			equal(t, "current", again.current("-1"), "-100")
			equal(t, "asked", again.hasAsked("5"), true)
		}
	}
}

// A file that cannot be understood is kept, once, and does not stop the bridge.
func TestDamagedChats(t *testing.T) {
	for _, content := range []string{"", "{", `{"version":2}`, `[]`, "\x00\x00"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "chats.json")
		lethetest.Must(t, os.WriteFile(path, []byte(content), 0o600))
		c := open(t, dir)
		open(t, dir)
		lethetest.Must(t, c.setThread("-1", 3))
		kept, _ := filepath.Glob(path + ".damaged-*")
		if len(kept) != 1 {
			t.Fatalf("%q: kept %v", content, kept)
		}
		if data, err := os.ReadFile(kept[0]); err != nil || string(data) != content {
			t.Errorf("kept %q, %v", data, err)
		}
	}
}

func TestMoves(t *testing.T) {
	c := open(t, t.TempDir())
	for _, step := range [][2]string{{"-1", "-100"}, {"-1", "-100"}, {"-100", "-200"}} {
		lethetest.Must(t, c.move(step[0], step[1]))
	}
	equal(t, "the first name stays", c.canonical("-200"), "-1")
	equal(t, "reached at the last", c.current("-1"), "-200")
	equal(t, "others", c.canonical("-5")+c.current("-5"), "-5-5")
}
