package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The lock and the marks beside it are never written through the link of another
// user, nor the lock through any, and a pipe in the place of a mark blocks nobody.
func TestMarksAreRegularFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	victim := filepath.Join(w.home.Dir, "victim")
	must(t, errors.Join(os.Symlink(victim, w.own(id, "lock"))))
	if a, err := Open(id, w.conf); err == nil {
		a.Close()
		t.Error("a lock that is a link was taken")
	}
	if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that the lock leads to: %v", err)
	}
	must(t, syscall.Mkfifo(w.own(id, stopFile), 0o600))
	must(t, syscall.Mkfifo(w.own(id, compactFile), 0o600))
	if Stop(id) == nil || AskToCompact(id) == nil {
		t.Error("a pipe was written to")
	}
}
