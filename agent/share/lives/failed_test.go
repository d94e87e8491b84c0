package lives

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// A life that comes here has no name before all that it needs is there: neither where it cannot be kept how far it was
// read, nor where the list of its workspace cannot be read, since an empty workspace would be stored over that one.
func TestSettleEndsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	store, a, ada := one(t, "dev")
	lethetest.Write(t, filepath.Join(ada.Dir, "workspace", "file"), "work\n")
	a.held(ada, func(j *journal.Journal) { lethetest.Must(t, j.Stop("request")) })
	for _, name := range []string{"shared.json", workspaceFile} {
		b := newHost(t, store, nil, "b"+name)
		lethetest.Must(t, b.take(ada))
		there := b.Home.Identity(ada.Self, "ada")
		c, err := b.catchUp(t.Context(), there, b.store)
		lethetest.Must(t, err)
		path := filepath.Join(there.Dir, name)
		lethetest.Must(t, os.Remove(path))
		lethetest.Write(t, filepath.Join(path, "in the way"), "")
		err = c.settle(t.Context())
		if _, missing := os.Lstat(filepath.Join(b.Home.Names(), "ada")); err == nil || missing == nil {
			t.Errorf("%s cannot be used: settled with %v, the name: %v", name, err, missing)
		}
		lethetest.Must(t, os.RemoveAll(path))
		lethetest.Must(t, os.RemoveAll(positionFile(there))) // it is read anew
		b.held(ada, func(*journal.Journal) {})
		lethetest.Holds(t, filepath.Join(there.Dir, "workspace", "file"), "work\n")
	}
}

// While what was restored is still marked as a mirror, how far it was read stays known.
func TestRestoreEndsAtTheFirstFailure(t *testing.T) {
	defer func() { durable.Fault = nil }()
	_, a, b, ada := two(t)
	a.held(ada, func(*journal.Journal) {})
	there := b.Home.Identity(ada.Self, "ada")
	lethetest.Must(t, os.MkdirAll(there.Dir, 0o700))
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage == durable.Before && op == "remove" && filepath.Base(path) == "mirror" {
			return syscall.EIO
		}
		return nil
	}
	err := b.Restore(t.Context(), there, b.store, time.Now())
	durable.Fault = nil
	if _, missing := os.Stat(positionFile(there)); !errors.Is(err, syscall.EIO) || missing != nil {
		t.Errorf("%v; how far it was read: %v", err, missing)
	}
	lethetest.Must(t, b.Restore(t.Context(), there, b.store, time.Now()))
	if _, missing := os.Stat(positionFile(there)); missing == nil || there.Mirrored() {
		t.Error("it is not restored whole")
	}
}

// Of a file that could not be written nothing is known: what stands here is not taken for what the store has.
func TestFileThatCannotBePlaced(t *testing.T) {
	t.Parallel()
	f := files{id: home.Identity{Dir: t.TempDir()}, known: map[string]blobs.Hash{}}
	lethetest.Write(t, filepath.Join(f.id.Dir, "MEMORY.md", "in the way"), "")
	err := f.place(File{Name: "MEMORY.md", Data: []byte("remember\n")}, nil)
	if len(f.known) > 0 || err == nil {
		t.Errorf("%v, %v", f.known, err)
	}
}
