package recall

import (
	"os"
	"strings"
	"testing"

	"lethe/blobs"
)

// lost takes a blob's file away, and returns what puts it back.
func (w *world) lost(h blobs.Hash) (back func()) {
	w.t.Helper()
	data, err := os.ReadFile(w.store.Path(h))
	if err != nil {
		w.t.Fatal(err)
	}
	remove(w.t, w.store.Path(h))
	return func() {
		w.t.Helper()
		if err := os.WriteFile(w.store.Path(h), data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// An original that was missing or damaged is found once it is put back.
func TestMissingComesBack(t *testing.T) {
	w := newWorld(t)
	work := w.worked("I count the pears.", "BASH", "{}", "twelve pears")
	said := w.now
	w.now = w.now.AddDate(0, 2, 0)
	pears, plums := w.fades(work)[0], w.says("a plum")
	apple := w.says("an apple")
	back := w.lost(pears)
	good, err := os.ReadFile(w.store.Path(plums))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.store.Path(plums), good[:len(good)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	x := w.synced()
	w.finds(x, "apple", apple)
	if n := strings.Count(w.said.String(), "passed over"); n != 2 {
		t.Errorf("%d originals are said to be passed over:\n%s", n, w.said.String())
	}
	back()
	w.sync(x) // it has just looked
	if n := originals(t, x); n != 1 {
		t.Errorf("%d originals", n)
	}

	x.sought = x.sought.Add(-seekTime)
	if n := w.sync(x); n != 1 {
		t.Errorf("added %d", n)
	}
	if h := w.finds(x, "pears", pears); !h.At.Equal(said) || h.From != 1 {
		t.Errorf("hit %+v", h)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(w.store.Path(plums), good, 0o600); err != nil {
		t.Fatal(err)
	}
	w.said.Reset()
	x = w.synced() // another process looks at once
	w.finds(x, "plum", plums)
	list, err := x.db.missing(t.Context())
	if err != nil || len(list) > 0 {
		t.Errorf("still missing %v, %v", list, err)
	}
	if said := w.said.String(); !strings.Contains(said, "is back") || strings.Contains(said, "passed over") {
		t.Errorf("said %s", said)
	}
}

// A store that has lost most of it: a Sync looks for some, and for all once they
// are there.
func TestManyMissing(t *testing.T) {
	w, all := fruit(t, 3*seekMost)
	var backs []func()
	for _, h := range all[1:] {
		backs = append(backs, w.lost(h))
	}
	x := w.synced()
	seen := map[string]bool{}
	for range 20 {
		list, err := x.db.missing(t.Context())
		if err != nil || len(list) != seekMost {
			t.Fatal(len(list), err)
		}
		for _, m := range list {
			seen[m.ref] = true
		}
	}
	if len(seen) <= seekMost {
		t.Errorf("it looks for the same %d always", len(seen))
	}
	w.said.Reset()
	x.sought = x.sought.Add(-seekTime)
	if n := w.sync(x); n != 0 || w.said.Len() > 0 {
		t.Errorf("added %d: %s", n, w.said.String())
	}
	for _, back := range backs {
		back()
	}
	x.sought = x.sought.Add(-seekTime)
	if n := w.sync(x); n != len(backs) {
		t.Errorf("added %d of %d", n, len(backs))
	}
	w.whole(x, all, "all are back")
}

// What fades again while it is missing, or is indexed by another way, is there
// once.
func TestMissingFadesAgain(t *testing.T) {
	w := newWorld(t)
	apple := w.heard("dev", "ada", "an apple")
	h := w.fades(apple)[0]
	back := w.lost(h)
	x := w.synced()
	w.fades() // only an epoch
	back()
	w.fades(apple) // decays: the same original
	back2 := w.lost(h)
	w.sync(x)
	back2()
	x.sought = x.sought.Add(-seekTime)
	w.sync(x)
	w.finds(x, "apple", h)
	if n := originals(t, x); n != 1 {
		t.Errorf("%d originals", n)
	}
	x.sought = x.sought.Add(-seekTime)
	if n := w.sync(x); n != 0 {
		t.Errorf("added %d again", n)
	}
}
