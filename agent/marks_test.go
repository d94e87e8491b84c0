package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lethe/internal/lethetest"
)

// The lock and the marks beside it are never written through the link of another
// user, nor the lock through any, and a pipe in the place of a mark blocks nobody.
func TestMarksAreRegularFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	victim := filepath.Join(w.home.Dir, "victim")
	lethetest.Must(t, errors.Join(os.Symlink(victim, w.own(id, "lock"))))
	if a, err := Open(id, w.conf); err == nil {
		a.Close()
		t.Error("a lock that is a link was taken")
	}
	if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that the lock leads to: %v", err)
	}
	lethetest.Must(t, syscall.Mkfifo(w.own(id, stopFile), 0o600))
	lethetest.Must(t, syscall.Mkfifo(w.own(id, compactFile), 0o600))
	if Stop(id) == nil || AskToCompact(id) == nil {
		t.Error("a pipe was written to")
	}
}

// A log that is the link of another user is neither read nor cut: what it leads to
// could be any file of ours.
func TestLogIsNoLinkOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a link of another user")
	}
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	ours := filepath.Join(w.home.Dir, "ours")
	lethetest.Must(t, errors.Join(os.WriteFile(ours, []byte("no log, and no newline"), 0o600), os.Remove(id.LIFE()),
		os.Symlink(ours, id.LIFE()), os.Lchown(id.LIFE(), 65534, 65534)))
	a, err := Open(id, w.conf)
	if err == nil {
		a.Close()
		t.Fatal("it was opened")
	}
	contains(t, err.Error(), "another user made this link")
	if got, err := os.ReadFile(ours); err != nil || string(got) != "no log, and no newline" {
		t.Errorf("our file holds %q, %v", got, err)
	}
}
