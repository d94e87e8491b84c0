package home_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// made is a new home.
func made(t *testing.T) (home.Home, *blobs.Store) {
	t.Helper()
	h, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	store, err := blobs.Open(h.Blobs())
	lethetest.Must(t, err)
	return h, store
}

// A name that signs what wakes an identity is nobody's.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	h, store := made(t)
	for name, refused := range map[string]bool{
		"cron-brief": true, "job": true, "webhook-x": true, "jobs": false, "cronus": false,
	} {
		if _, err := home.Boot(h, store, home.BootOptions{Name: name}); (err != nil) != refused {
			t.Errorf("boot %s: %v", name, err)
		}
	}
}

// A boot of a child that a crash cut short before its first line is done again, and finds the
// same identity.
func TestChildBootedAgain(t *testing.T) {
	t.Parallel()
	h, store := made(t)
	parent, err := home.Boot(h, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	self, err := blobs.ParseHash(parent.Self)
	lethetest.Must(t, err)
	boot := func() home.Identity {
		t.Helper()
		at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
		id, err := home.Boot(h, store, home.BootOptions{Name: "ada-3fa9", Rooms: []string{"task-3fa9c1d2"},
			Child: &home.Child{At: at, Parent: self, Of: "ada", Room: "task-3fa9c1d2"}})
		lethetest.Must(t, err)
		return id
	}
	first := boot()
	whole := lethetest.Read(t, first.LIFE())
	for _, left := range []string{"", whole[:30], whole} { // at last its line was there
		lethetest.Write(t, first.LIFE(), left)
		lethetest.Must(t, os.Remove(filepath.Join(h.Names(), "ada-3fa9")))
		if again := boot(); again != first {
			t.Errorf("booted as %v", again)
		}
		lines := 0
		lethetest.Must(t, life.Scan(first.LIFE(), func(life.Event, int64) error { lines++; return nil }))
		if lines != 1 {
			t.Errorf("LIFE has %d lines", lines)
		}
	}
}

// Of boots of one name at once one makes the identity, and the others find it.
func TestBootsAtOnce(t *testing.T) {
	t.Parallel()
	h, store := made(t)
	var made atomic.Int32
	var boots sync.WaitGroup
	for range 8 {
		boots.Go(func() {
			_, err := home.Boot(h, store, home.BootOptions{Name: "ada"})
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, home.ErrExists) {
				t.Error(err)
			}
		})
	}
	boots.Wait()
	all, err := h.List()
	lethetest.Must(t, err)
	if len(all) != 1 || made.Load() != 1 {
		t.Errorf("%d boots made %d identities", made.Load(), len(all))
	}
}

// A name is short and plain, belongs to one identity, and finds it, as a beginning of its hash does.
func TestNames(t *testing.T) {
	t.Parallel()
	h, store := made(t)
	for name, ok := range map[string]bool{"a": true, "a-1": true, "": false, "A": false, "1a": false, "a_b": false,
		"../x": false, strings.Repeat("a", 32): true, strings.Repeat("a", 33): false} {
		if home.ValidName(name) != ok {
			t.Errorf("ValidName(%q) is %v", name, !ok)
		}
	}
	if _, err := home.Boot(h, store, home.BootOptions{Name: "Ada"}); err == nil {
		t.Error("a bad name was booted")
	}
	if _, err := home.Boot(h, store, home.BootOptions{Name: "ada", Rooms: []string{"../dev"}}); err == nil {
		t.Error("a bad room was booted")
	}
	if _, running := home.Running(home.Identity{}); running {
		t.Error("the zero identity runs")
	}
	if _, err := os.Lstat("lock"); err == nil {
		t.Error("the zero identity has a lock in the working directory")
	}
	ada, err := home.Boot(h, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	bob, err := home.Boot(h, store, home.BootOptions{Name: "bob"})
	lethetest.Must(t, err)
	if _, err := home.Boot(h, store, home.BootOptions{Name: "ada"}); !errors.Is(err, home.ErrExists) {
		t.Errorf("a name was given twice: %v", err)
	}
	for who, want := range map[string]home.Identity{"ada": ada, ada.Self: ada, ada.Self[:8]: ada, "bob": bob, bob.Self[:20]: bob} {
		got, err := h.Find(who)
		if err != nil || got != want {
			t.Errorf("Find(%q) = %v, %v", who, got, err)
		}
	}
	for _, who := range []string{"eve", "", "abc", ada.Self[:3], ada.Self + "0", "../ada"} {
		if _, err := h.Find(who); !errors.Is(err, home.ErrNotFound) {
			t.Errorf("Find(%q): %v", who, err)
		}
	}
	lethetest.Must(t, os.Remove(h.Names()+"/ada")) // lost in a crash
	got, err := h.Find("ada")
	lethetest.Must(t, err)
	if got.Self != ada.Self {
		t.Errorf("the one without a link is %s", got.Self)
	}
	again, err := home.Boot(h, store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	if again.Self != ada.Self {
		t.Errorf("booted again as %s", again.Self)
	}
}
