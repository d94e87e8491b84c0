package rooms

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// Where the directory of replaced files cannot be made for sure, no file gets a name in it.
func TestRewriteEndsAtTheFirstFailure(t *testing.T) {
	defer func() { durable.Fault = nil }()
	r := newHost(t, memstore.New(), "a")
	r.echo(t, "dev", "one\ntwo\n")
	r.sync(t)
	lethetest.Write(t, chat.Path(r.Dir, "dev"), "ONE\ntwo\n")
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage == durable.After && op == "mkdir" && filepath.Base(path) == late { // it is there all the same
			return syscall.EIO
		}
		return nil
	}
	err := r.Sync(t.Context())
	durable.Fault = nil
	if left := r.late(t); !errors.Is(err, syscall.EIO) || len(left) > 0 {
		t.Errorf("%v; %q", err, left)
	}
	r.sync(t)
	r.holds(t, "dev", "one\ntwo\n")
}

// What was erased here and is not yet in the stream does not come back where the one file that knows of it cannot be read.
func TestReadAnewKeepsWhatIsErased(t *testing.T) {
	r := newHost(t, memstore.New(), "a")
	r.echo(t, "dev", word+"\n")
	r.sync(t)
	r.erase(t, "dev", word)
	lethetest.Must(t, os.Remove(filepath.Join(r.Dir, "share", stepFile)))
	path := Path(r.Dir, "dev")
	lethetest.Must(t, os.Rename(path, path+".0"))
	for n := range 20 { // more links than anybody follows
		lethetest.Must(t, os.Symlink(fmt.Sprint("dev.md.", n), fmt.Sprint(path, ".", n+1)))
	}
	lethetest.Must(t, os.Symlink("dev.md.20", path))
	if err := r.again().Sync(t.Context()); !errors.Is(err, syscall.ELOOP) {
		t.Error(err)
	}
	lethetest.Must(t, os.Remove(path))
	lethetest.Must(t, os.Rename(path+".0", path))
	r.again().sync(t)
	r.holds(t, "dev", masked(word, word)+"\n")
}

// A search for old entries ends at the first text that the store does not give.
func TestPackEndsAtTheFirstFailure(t *testing.T) {
	store := memstore.New()
	r := newHost(t, store, "a")
	for n := range 100 {
		r.echo(t, "dev", fmt.Sprintln(n))
		r.sync(t)
	}
	r.packed = time.Now().Add(-2 * time.Hour)
	before := store.Calls["get"]
	store.Fault = func(op, _ string, _ int) (bool, error) {
		if op == "get" {
			return false, syscall.EIO
		}
		return true, nil
	}
	err := r.Sync(t.Context())
	if asked := store.Calls["get"] - before; !errors.Is(err, syscall.EIO) || asked != 1 {
		t.Errorf("%v, after %d texts", err, asked)
	}
}
