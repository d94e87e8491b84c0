package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// later writes n files, and a record behind them, into a set.
func later(t *testing.T, s *Syncs, dir string, n int) {
	t.Helper()
	for i := range n {
		must(t, WriteFileLater(s, filepath.Join(dir, fmt.Sprint(i)), fmt.Append(nil, "text ", i), 0o400))
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	must(t, err)
	t.Cleanup(func() { log.Close() })
	must(t, AppendLater(s, log, []byte("a line\n")))
}

// While a test watches, each is synced once, the record first, and the first failure is the last step.
func TestSyncs(t *testing.T) {
	dir := t.TempDir()
	var s Syncs
	later(t, &s, dir, 2)
	var steps []string
	fails := ""
	inject(t, func(stage Stage, op, path string) error {
		if stage == Before {
			steps = append(steps, op+" "+filepath.Base(path))
		}
		if op+" "+filepath.Base(path) == fails {
			return errInjected
		}
		return nil
	})
	must(t, s.Wait())
	want := []string{"sync log", "sync 0", "syncdir " + filepath.Base(dir), "sync 1"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	steps = nil
	must(t, s.Wait())
	if len(steps) > 0 {
		t.Errorf("an empty set is synced: %q", steps)
	}
	must(t, s.Sync(filepath.Join(dir, "0")))
	must(t, s.Sync(filepath.Join(dir, "1")))
	fails = "sync 0"
	if err := s.Wait(); err != errInjected || len(steps) != 1 {
		t.Errorf("%v after %q", err, steps)
	}
}

// Many sets wait at once, of more files than may be open; no goroutine is left, and each file is whole.
func TestSyncsAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	var wg sync.WaitGroup
	for range 8 {
		dir := t.TempDir()
		wg.Go(func() {
			var s Syncs
			later(t, &s, dir, 2*maxUnsynced)
			if len(s.all) > maxUnsynced+1 {
				t.Errorf("%d files are open", len(s.all))
			}
			if err := s.Wait(); err != nil {
				t.Error(err)
			}
			for i := range 2 * maxUnsynced {
				if got := mustRead(t, filepath.Join(dir, fmt.Sprint(i))); got != fmt.Sprint("text ", i) {
					t.Errorf("file %d holds %q", i, got)
				}
			}
		})
	}
	wg.Wait()
	if len(syncing) > 0 {
		t.Errorf("%d goroutines are counted and gone", len(syncing))
	}
}

// What could not be synced is an error, of whichever it was, and nothing of the set stays open.
func TestSyncsFail(t *testing.T) {
	var s Syncs
	later(t, &s, t.TempDir(), 3)
	for _, u := range s.all[:2] {
		must(t, u.file.Close())
	}
	files := s.all[1:]
	if err := s.Wait(); err == nil || len(s.all) > 0 {
		t.Errorf("%v, and %d are left", err, len(s.all))
	}
	for _, u := range files {
		if u.file != nil && u.file.Close() == nil {
			t.Errorf("%s was left open", u.path)
		}
	}
}
