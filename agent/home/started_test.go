package home

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func TestStarted(t *testing.T) {
	h, err := Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(h.Blobs())
	lethetest.Must(t, err)
	ada, err := Boot(h, store, BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	lethetest.Must(t, ada.Start(false, ""))
	lethetest.Holds(t, ada.startedFile(), "model\n")
	lethetest.Write(t, ada.startedFile(), lethetest.Blocks(t, "formats.md", "started")[0])
	lethetest.Write(t, filepath.Join(h.startedDir(), strings.Repeat("0", 64)), "model\n") // which is not there any more
	list := h.Started()
	if len(list) != 1 || list[0] != (Started{ada, true, "open ada: its disk is full"}) {
		t.Errorf("the page's example is %+v", list)
	}
	// Who creates the file and writes it then, as echo does, is not taken at their half word.
	for _, half := range []string{"", "off", "mode"} {
		lethetest.Write(t, ada.startedFile(), half)
		if s, ok := ada.Started(); ok || len(h.Started()) != 0 {
			t.Errorf("%q counts: %+v", half, s)
		}
	}
	lethetest.Must(t, ada.Unstart()) // half a file goes, too
	for with, offline := range map[string]bool{"model": false, "offline": true} {
		lethetest.Write(t, ada.startedFile(), with) // as printf leaves it
		if s, ok := ada.Started(); !ok || s.Offline != offline {
			t.Errorf("%q is %+v, %v", with, s, ok)
		}
	}
	lethetest.Must(t, ada.Start(true, ""))
	// A write that fails, or fails and yet happened, leaves it started as before, or anew.
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for _, op := range []string{"write", "sync", "rename"} {
			mended := lethetest.Break(t, h.Dir, func(s durable.Stage, o, _ string) error {
				if s == stage && o == op {
					return syscall.EIO
				}
				return nil
			})
			err := ada.Start(true, "")
			mended()
			if s, ok := ada.Started(); err == nil || !ok || !s.Offline {
				t.Errorf("%s %s: %+v, %v", stage, op, s, err)
			}
		}
	}
	lock := h.Keeper()
	if ok, err := lock.TryLock(); !ok || !h.Kept() {
		t.Error("nobody keeps it", err)
	}
	lethetest.Must(t, lock.Close())
	lethetest.Must(t, Ask(ada, WishStop))
	if _, ok := ada.Started(); ok || h.Kept() {
		t.Error("it is stopped, and kept running")
	}
	mended := lethetest.Break(t, h.Dir, func(durable.Stage, string, string) error { return syscall.ENOSPC })
	err = errors.Join(ada.Start(true, ""), ada.Unstart())
	mended()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
