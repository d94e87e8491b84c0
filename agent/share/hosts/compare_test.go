package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/journal"
	"lethe/agent/share/lives"
	"lethe/agent/share/streams"
	"lethe/internal/test/lethetest"
)

// stored returns the files that the store has of a life.
func (h *host) stored(self string) (all []string) {
	h.Helper()
	dir := filepath.Join(strings.TrimPrefix(h.conf.URL, "file://"), "lives="+self)
	all, err := filepath.Glob(filepath.Join(dir, "*", "[0-9]*"))
	lethetest.Must(h, err)
	slices.Sort(all) // the newest first
	return all
}

// A host compares by itself what the store has of its lives, whether they run or not, writes again what is missing, and
// keeps for doctor that it was.
func TestCompares(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		ada, bob := a.boot("ada"), a.boot("bob")
		j, err := journal.Hold(a.home, ada, a.store, nil)
		lethetest.Must(t, err)
		defer a.serve()()
		for _, id := range []string{ada.Self, bob.Self} {
			files := a.stored(id)
			lethetest.Must(t, os.Remove(files[0]))
			time.Sleep(2 * compareEvery)
			found := ReadChecked(a.home.Dir)
			if found.Lost.IsZero() || !strings.Contains(found.What, "its newest segments are gone: 1") {
				t.Errorf("%+v", found)
			}
			_, err = a.streams.Each(t.Context(), lives.Stream(id), streams.At{}, func(_ int, _ []byte, err error) error { return err })
			lethetest.Must(t, err)
			lethetest.Must(t, changeChecked(a.home.Dir, func(found *Checked) { *found = Checked{} }))
		}
		lethetest.Must(t, j.Close())
	})
}

// Where a reading of the store has found faults, a host that starts writes at once again what it has, of lives that run
// and of others.
func TestComparesAtStart(t *testing.T) {
	timed(t, func(t *testing.T) {
		a := first(t)
		ada, bob := a.boot("ada"), a.boot("bob")
		for _, id := range []string{ada.Self, bob.Self} {
			lethetest.Must(t, os.Truncate(a.stored(id)[1], 10))
		}
		found, err := Check(t.Context(), a.home, a.conf, func(Audit) {})
		lethetest.Must(t, err)
		if len(found.Faults) != 2 {
			t.Fatalf("%+v", found.Faults)
		}
		j, err := journal.Hold(a.home, ada, a.store, nil)
		lethetest.Must(t, err)
		stop := a.serve()
		time.Sleep(compareEvery / 4)
		stop()
		lethetest.Must(t, j.Close())
		found, err = Check(t.Context(), a.home, a.conf, func(Audit) {})
		lethetest.Must(t, err)
		if len(found.Faults) != 0 {
			t.Errorf("%+v", found.Faults)
		}
	})
}
