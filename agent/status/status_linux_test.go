//go:build linux

package status_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lethe/agent/status"
	"lethe/internal/test/lethetest"
)

// On a disk that is full, what is shown is still what is so.
func TestWriteOnFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk to fill")
	}
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no disk to fill:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	lethetest.Must(t, status.Write(dir, status.Status{Name: "ada", State: status.Thinking, Error: "a longer text than the next"}))
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	lethetest.Must(t, status.Write(dir, status.Status{Name: "ada", State: status.Retrying}))
	if s, err := status.Read(dir); err != nil || s.State != status.Retrying || s.Error != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
