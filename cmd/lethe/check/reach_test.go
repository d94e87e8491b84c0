package check_test

import (
	"errors"
	"os"
	"testing"

	"lethe/agent/home"
	"lethe/blobs"
)

// reached are the blobs that a life refers to.
func (w *world) reached(id home.Identity) map[blobs.Hash]bool {
	w.Helper()
	own := map[blobs.Hash]bool{}
	for _, h := range w.verify(id, nil).Reach.Found {
		if own[h] {
			w.Errorf("%s reaches %s twice", id.Name, h)
		}
		own[h] = true
	}
	return own
}

// What a life refers to is all that is stored of it, and what it comes from.
func TestReach(t *testing.T) {
	w := newWorld(t)
	all, err := w.home.List()
	w.must(err)
	granted := w.resolve(refs(t, w.id("bob"), "epoch")[0])
	for _, id := range all {
		own, n := w.reached(id), 0
		w.must(w.store.Each(func(h blobs.Hash) error {
			b := w.get(h)
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

// What is missing is told at the end, when all else was reached.
func TestReachBeyondWhatIsLost(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	whole := w.reached(ada)
	epoch := w.resolve(refs(t, ada, "epoch")[1])
	w.must(os.Remove(w.store.Path(epoch)))
	if v := w.verify(ada, nil); !errors.Is(v.Reach.Unknown, blobs.ErrNotFound) || len(v.Reach.Found) != len(whole)-1 {
		t.Errorf("of %d reached %d, %v", len(whole), len(v.Reach.Found), v.Reach.Unknown)
	}
}
