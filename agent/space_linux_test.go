package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/llm/rehearsal"
)

// What TestNothingIsAskedOnAFullDisk says, on a real file system that is small and nearly full: room for lines,
// and none for an answer.
func TestSmallFileSystem(t *testing.T) {
	dir, err := os.MkdirTemp("", "lethe-small-*") // not t.TempDir, which is to be in it
	lethetest.Must(t, err)
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := syscall.Mount("lethe-test", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("no small file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	t.Setenv("TMPDIR", dir)
	w := newWorld(t, rehearsal.Step{Contains: "at length", Times: -1, Answer: text(strings.Repeat("much ", 12_000))})
	if !strings.HasPrefix(w.home.Dir, dir) {
		t.Fatalf("the home is in %s", w.home.Dir)
	}
	id := w.boot("ada", "dev")
	ballast := filepath.Join(dir, "ballast")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	open := func(id Identity) (*Agent, error) { return Open(id, w.conf) }
	go func() { done <- Supervise(ctx, []Identity{id}, open, discard()) }() // ends with cancel
	defer func() { cancel(); <-done }()
	w.ask("dev", "hello")

	var fs syscall.Statfs_t
	lethetest.Must(t, syscall.Statfs(dir, &fs))
	lethetest.Must(t, os.WriteFile(ballast, make([]byte, int64(fs.Bavail)*int64(fs.Bsize)-128<<10), 0o600))
	w.say("dev", "ann", "tell me at length")
	w.eventually("it is heard", func() bool { return len(w.heard(id, "dev")) == 2 })
	w.eventually("it waits", func() bool {
		s, err := status.Read(id.Dir)
		return len(w.asked()) > 1 || err == nil && strings.Contains(s.Error, "no space left on device")
	})
	equal(t, "calls while the disk is full", len(w.asked()), 1)
	lethetest.Must(t, os.Remove(ballast))
	contains(t, w.answered("dev", 2), "much much")
	equal(t, "calls", len(w.asked()), 2)
}
