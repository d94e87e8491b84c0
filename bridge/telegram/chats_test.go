package telegram

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"lethe/bridge"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
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
			lethetest.Must(t, c.move("-1", "-100"))
			fault := errors.New("broken")
			durable.Fault = func(s durable.Stage, o, path string) error {
				if s == stage && o == op && (op == "syncdir" || strings.HasSuffix(path, "chats.json")) {
					return fault
				}
				return nil
			}
			err := c.move("-2", "-200")
			durable.Fault = nil
			if !errors.Is(err, fault) {
				t.Errorf("%s %s: %v", stage, op, err)
			}
			equal(t, "after a failure", c.canonical("-200"), "-200")
			again := open(t, dir)
			equal(t, "canonical", again.canonical("-100"), "-1")
			equal(t, "current", again.current("-1"), "-100")
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

// A file that cannot be understood is kept once, and what is known begins anew.
func TestDamagedChats(t *testing.T) {
	for _, content := range []string{"", "{", `{"version":2}`, "\x00\x00"} {
		path, log := filepath.Join(t.TempDir(), "chats.json"), &lethetest.Log{}
		lethetest.Write(t, path, content)
		for range 2 {
			_, err := openChats(filepath.Dir(path), slog.New(slog.NewTextHandler(log, nil)))
			lethetest.Must(t, err)
		}
		kept, _ := filepath.Glob(path + ".damaged-*")
		equal(t, "kept files", len(kept), 1)
		lethetest.Holds(t, kept[0], content)
		equal(t, "warnings", strings.Count(log.String(), "chats cannot be read"), 1)
	}
}

// A bridge beside three state files that cannot be understood keeps them once, and talks all the same.
func TestDamagedAtTheStart(t *testing.T) {
	for _, content := range []string{"", "{", `{"version":2}`, "\x00\x00"} {
		t.Run(fmt.Sprintf("%q", content), func(t *testing.T) {
			st := newStage(t)
			ada := st.ada()
			chats := st.file("chats.json")
			for _, path := range []string{chats, st.file("inbox.jsonl"), st.file("peers/" + id(ada.dm.ID) + ".json")} {
				lethetest.Write(t, path, content)
			}
			lethetest.Must(t, st.stop(ada.greets()))
			st.start()
			st.answers("dev", "hello")
			st.sent(ada.dm, 1)
			kept, _ := filepath.Glob(chats + ".damaged-*")
			equal(t, "kept files", len(kept), 1)
			lethetest.Holds(t, kept[0], content)
			has(t, "log", st.log.String(), "chats cannot be read")
		})
	}
}
