package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Of many that create a name one does, whole; what is there stays.
func TestCreateOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n")
	var all sync.WaitGroup
	won := make(chan string, 20)
	for i := range 20 {
		all.Go(func() {
			mine := fmt.Sprint("text of ", i)
			switch err := Create(path, []byte(mine), 0o600); {
			case err == nil:
				won <- mine
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(won)
	if got := mustRead(t, path); len(won) != 1 || got != <-won {
		t.Errorf("%d writers won, and %q is there", len(won), got)
	}
	noTemp(t, dir)
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

// Each step fails once and is lost, once and has happened all the same: the name has the whole text or is not there,
// and a second try makes it or finds it.
func TestCreateFaults(t *testing.T) {
	for _, stage := range []Stage{Before, After} {
		for _, op := range []string{"write", "sync", "link", "syncdir"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "n")
			fail(t, stage, op)
			if err := Create(path, []byte("text"), 0o600); !errors.Is(err, errInjected) {
				t.Fatalf("%s %s: error %v, want the injected one", stage, op, err)
			}
			noTemp(t, dir)
			Fault = nil
			there := op == "syncdir" || op == "link" && stage == After
			err := Create(path, []byte("text"), 0o600)
			if errors.Is(err, fs.ErrExist) != there || err != nil && !there {
				t.Errorf("%s %s: the second try: %v", stage, op, err)
			}
			if got := mustRead(t, path); got != "text" {
				t.Errorf("%s %s: %q is there", stage, op, got)
			}
		}
	}
}
