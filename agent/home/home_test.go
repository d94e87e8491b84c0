package home

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// A directory of identities that cannot be read is an error, also where no name is there: with an empty list, commands
// would take what these identities hold for nobody's.
func TestListTellsWhatItCannotRead(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	if all, err := h.List(); err != nil || len(all) != 0 {
		t.Errorf("an empty home has %v, %v", all, err)
	}
	lethetest.Write(t, h.Agents(), "no directory")
	if all, err := h.List(); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%v, %v", all, err)
	}
}

// Where one part of a home cannot be made, no other one is made behind it.
func TestOpenEndsAtTheFirstFailure(t *testing.T) {
	dir := t.TempDir()
	h := Home{Dir: dir}
	parts := []string{h.Blobs(), h.Chats(), h.Agents(), h.Names(), h.startedDir()}
	for i, part := range parts {
		mended := lethetest.Break(t, dir, func(stage durable.Stage, op, path string) error {
			if stage == durable.Before && op == "mkdir" && path == part {
				return syscall.ENOSPC
			}
			return nil
		})
		_, err := Open(dir)
		mended()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", part, err)
		}
		for k, other := range parts {
			if _, missing := os.Stat(other); (missing == nil) != (k < i) {
				t.Errorf("%s failed, and %s: %v", filepath.Base(part), filepath.Base(other), missing)
			}
		}
	}
}
