package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file system that is nearly full has no space, and a small file still fits.
func TestSpace(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("lethe-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("no small file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := Space(dir, 1<<20); err != nil {
		t.Errorf("2 MiB are free: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "much"), make([]byte, 3<<19), 0o600))
	if err := Space(dir, 1<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("half of it is free: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
