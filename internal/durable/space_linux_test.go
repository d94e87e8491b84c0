package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file system that is nearly full has no space, though a small file still fits; nor has one that is read-only.
func TestSpace(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("lethe-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("no small file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	kept := &Space{Dir: dir, Size: 1 << 20}
	t.Cleanup(kept.Close)
	reserved := map[string]func() error{
		"allocated": (&Space{Dir: dir, Size: 1 << 20}).Look, "once more": kept.Look,
		"written": func() error { return occupy(dir, 1<<20) },
	}
	must(t, kept.Look())
	for how, space := range reserved {
		if err := space(); err != nil {
			t.Errorf("%s: 2 MiB are free: %v", how, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "much"), make([]byte, 3<<19), 0o600))
	for how, space := range reserved {
		if err := space(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: half of it is free: %v", how, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if err := kept.Look(); !errors.Is(err, syscall.EROFS) {
		t.Errorf("it is read-only: %v", err)
	}
}
