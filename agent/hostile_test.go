package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
)

// Pipes and links in the place of an identity's own files neither block it nor
// get anything read or written, and a pipe in the place of its context is replaced.
func TestOwnFilesThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	victim, secret := filepath.Join(w.home.Dir, "victim"), filepath.Join(w.home.Dir, "secret")
	lock, memory, view := w.own(id, "lock"), w.own(id, "MEMORY.md"), w.own(id, home.ContextFile)
	w.write(secret, "the-secret-word")
	lethetest.Must(t, os.Symlink(victim, lock))
	if a, err := Open(id, w.conf); err == nil {
		a.Close()
		t.Error("a lock that is a link was taken")
	}
	if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that the lock leads to: %v", err)
	}
	for _, path := range []string{lock, memory, view, w.own(id, "SEGMENT.md")} {
		lethetest.Must(t, os.RemoveAll(path))
	}
	lethetest.Must(t, os.Symlink(secret, memory))
	lethetest.Must(t, os.MkdirAll(home.WishDir(id), 0o700))
	for _, path := range []string{view, w.own(id, "SEGMENT.md"), home.WishStop.Path(id), home.WishCompact.Path(id), w.own(id, "stop")} {
		lethetest.Must(t, syscall.Mkfifo(path, 0o600))
	}
	r := w.run(id)
	r.ask("hello")
	r.stop()
	if fi, err := os.Lstat(view); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("context.md: %v, %v", fi, err)
	}
	if strings.Contains(w.prompt(), "the-secret-word") {
		t.Fatal("a linked file was read into a request")
	}
}
