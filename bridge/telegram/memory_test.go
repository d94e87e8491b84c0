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
)

// session is a session that does not run.
func (st *stage) session() (*session, *bridge.Bridge) {
	st.t.Helper()
	c := st.cfg.defaults()
	hub, err := bridge.Open(bridge.Config{Home: st.home, Name: Name, Log: c.Log, Watcher: c.Watcher})
	if err != nil {
		st.t.Fatal(err)
	}
	s, err := newSession(c, hub, func(error) {})
	if err != nil {
		st.t.Fatal(err)
	}
	return s, hub
}

// Each write of chats.json fails, and is lost or persists all the same: what was
// known before is known after a restart, and what succeeded is too.
func TestMemoryIsDurable(t *testing.T) {
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for _, op := range []string{"write", "sync", "rename", "syncdir"} {
			dir := filepath.Join(t.TempDir(), "bridges", Name)
			open := func() *memory {
				t.Helper()
				m, err := openMemory(dir, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			m := open()
			if err := errors.Join(m.move("-1", "-100"), m.setThread("-1", 7), m.asked("5", time.Now())); err != nil {
				t.Fatal(err)
			}
			fault := errors.New("broken")
			durable.Fault = func(s durable.Stage, o, path string) error {
				if s == stage && o == op && strings.HasSuffix(path, "chats.json") || o == op && s == stage && op == "syncdir" {
					return fault
				}
				return nil
			}
			err := m.setThread("-1", 8)
			durable.Fault = nil
			if !errors.Is(err, fault) {
				t.Errorf("%s %s: %v", stage, op, err)
			}
			equal(t, "thread after a failure", m.thread("-1"), 7)
			again := open()
			if got := again.thread("-1"); got != 7 && got != 8 {
				t.Errorf("%s %s: thread %d after a restart", stage, op, got)
			}
			equal(t, "canonical", again.canonical("-100"), "-1")
			equal(t, "current", again.current("-1"), "-100")
			equal(t, "asked", again.hasAsked("5"), true)
			if err := m.setThread("-1", 9); err != nil {
				t.Error(err)
			}
			equal(t, "thread", open().thread("-1"), 9)
		}
	}
}

// A file that cannot be understood is kept, and does not stop the bridge.
func TestDamagedMemory(t *testing.T) {
	for _, content := range []string{"", "{", `{"version":2}`, `[]`, "\x00\x00"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "chats.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := openMemory(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openMemory(dir, slog.New(slog.DiscardHandler)); err != nil { // and it is kept once
			t.Fatal(err)
		}
		if err := m.setThread("-1", 3); err != nil {
			t.Fatal(err)
		}
		kept, _ := filepath.Glob(path + ".damaged-*")
		if len(kept) != 1 {
			t.Fatalf("%q: kept %v", content, kept)
		}
		data, err := os.ReadFile(kept[0])
		if err != nil || string(data) != content {
			t.Errorf("kept %q, %v", data, err)
		}
	}
}

// One that is larger than can be read is kept whole, and it is said what is wrong.
func TestLargeMemory(t *testing.T) {
	dir, log := t.TempDir(), &buffer{}
	path := filepath.Join(dir, "chats.json")
	content := `{"version":1,"names":[` + strings.Repeat(`{"name":"Bob","user":"5"},`, maxFacts/20)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openMemory(dir, slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(path + ".damaged-*")
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != content {
		t.Errorf("%d bytes of %d are kept, %v", len(data), len(content), err)
	}
	has(t, "log", log.String(), "larger than")
}

func TestMemoryOfMoves(t *testing.T) {
	m, err := openMemory(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{"-1", "-100"}, {"-1", "-100"}, {"-100", "-200"}} {
		if err := m.move(step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "the first name stays", m.canonical("-200"), "-1")
	equal(t, "reached at the last", m.current("-1"), "-200")
	equal(t, "others", m.canonical("-5")+m.current("-5"), "-5-5")
}
