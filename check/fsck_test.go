package check

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lethe/blobs"
	"lethe/internal/lethetest"
)

// fsck checks the home, and returns the kinds of what it finds.
func (w *world) fsck() (kinds []string) {
	w.Helper()
	r, err := Fsck(w.home, w.store, nil, nil)
	lethetest.Must(w, err)
	for _, f := range r.Findings {
		w.Logf("%s %s: %s %s", f.Level, f.Kind, f.Where, f.What)
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func TestFsckOfWhatIsWhole(t *testing.T) {
	w := newWorld(t)
	if found := w.fsck(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// Whichever text is lost or damaged: after a repair nothing is left to find, and the identity goes on and
// knows.
func TestRepairOfEachBlob(t *testing.T) {
	whole := newWorld(t)
	ada := whole.id("ada")
	all := slices.SortedFunc(maps.Keys(whole.reached(ada)), func(a, b blobs.Hash) int { return slices.Compare(a[:], b[:]) })
	step := lethetest.Sample(40, 20, 1)
	for i := 0; i < len(all); i += step {
		h := all[i]
		dir := filepath.Join(lethetest.Dir(t), "home")
		copyHome(t, lived.dir, dir)
		w := open(t, dir)
		path := w.store.Path(h)
		b, err := w.store.Get(h)
		lethetest.Must(t, err)
		if i/step%2 == 0 {
			lethetest.Must(t, os.Remove(path))
		} else {
			lethetest.Must(t, os.Chmod(path, 0o600))
			lethetest.Must(t, os.Truncate(path, 3))
			lethetest.Must(t, os.Chmod(path, 0o400))
		}
		what := fmt.Sprintf("%s %q", h, b.Gist)
		if len(w.fsck()) == 0 {
			t.Fatalf("%s is lost, and nothing is found", what)
		}
		mended, left, err := Repair(w.home, w.store, nil, nil)
		if err != nil || len(left.Findings) > 0 {
			t.Errorf("%s: mended %+v, left %+v, %v", what, mended, left, err)
			continue
		}
		now, err := w.store.Get(h)
		t.Logf("%s: %d mended, gone: %v %v", what, len(mended), now.Gone != nil, err)
		os.RemoveAll(dir)
	}
}
