package home_test

import (
	"os"
	"path/filepath"
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
