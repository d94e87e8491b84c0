package check

import (
	"errors"
	"math"
	"os"
	"testing"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/test/lethetest"
)

// reached are the blobs that a life refers to.
func (w *world) reached(id home.Identity) map[blobs.Hash]bool {
	w.Helper()
	own := map[blobs.Hash]bool{}
	lethetest.Must(w, Reach(id, w.store, math.MaxInt64, func(h blobs.Hash) error {
		if own[h] {
			w.Errorf("%s visits %s twice", id.Name, h)
		}
		own[h] = true
		return nil
	}))
	return own
}

// What a life refers to is all that is stored of it, and what it comes from.
func TestReach(t *testing.T) {
	w := newWorld(t)
	all, err := w.home.List()
	lethetest.Must(t, err)
	granted, err := w.store.Resolve(refs(t, w.id("bob"), "epoch")[0])
	lethetest.Must(t, err)
	for _, id := range all {
		own, n := w.reached(id), 0
		lethetest.Must(t, w.store.Each(func(h blobs.Hash) error {
			b, err := w.store.Get(h)
			lethetest.Must(t, err)
			boot := h.String() == id.Self || id.Name != "ada" && id.Name != "bob" && h.String() == w.id("ada").Self
			if want := b.Life == id.Self || boot || id.Name == "ada" && h == granted; own[h] != want {
				t.Errorf("%s reaches %s, %q: %v, want %v", id.Name, h, b.Gist, own[h], want)
			}
			n++
			return nil
		}))
		if n < 100 {
			t.Errorf("there are only %d blobs", n)
		}
	}
}

// What is missing is told at the end, when all else was visited; an error ends the walk.
func TestReachBeyondWhatIsLost(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	whole := w.reached(ada)
	epoch, err := w.store.Resolve(refs(t, ada, "epoch")[1])
	lethetest.Must(t, err)
	lethetest.Must(t, os.Remove(w.store.Path(epoch)))
	n := 0
	count := func(blobs.Hash) error { n++; return nil }
	if err := Reach(ada, w.store, math.MaxInt64, count); !errors.Is(err, blobs.ErrNotFound) || n != len(whole)-1 {
		t.Errorf("of %d visited %d, %v", len(whole), n, err)
	}
	end, n := errors.New("enough"), 0
	if err := Reach(ada, w.store, math.MaxInt64, func(blobs.Hash) error { n++; return end }); err != end || n != 1 {
		t.Errorf("visited %d, %v", n, err)
	}
}
