package recall

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/lethetest"
)

// What may have happened to the file between two processes.
func TestDamagedFile(t *testing.T) {
	w, all := fruit(t, 150)
	lethetest.Must(t, w.synced().Close())
	good, err := os.ReadFile(w.indexPath())
	if err != nil || len(good) < 16<<10 {
		t.Fatal(len(good), err)
	}
	exec := func(statement string) func(string) error {
		return func(string) error { w.tampered(statement); return nil }
	}
	write := func(data []byte) func(string) error {
		return func(path string) error { return os.WriteFile(path, data, 0o600) }
	}
	for _, c := range []struct {
		what   string
		change func(path string) error
	}{
		{"empty", write(nil)},
		{"cut in half", write(good[:len(good)/2])},
		{"its last page gone", write(good[:len(good)-4096])},
		{"no database", write([]byte(strings.Repeat("I am a text. ", 1000)))},
		{"a later version's", exec("PRAGMA user_version=99")},
		{"without a table", exec("DROP TABLE docs")},
		{"with a broken state", exec("UPDATE state SET json='{'")},
		{"with broken addresses", exec("UPDATE docs SET hash=x'00'")},
		{"with strangers' segments", exec("DELETE FROM docs")},
	} {
		w.replaced(good)
		if err := c.change(w.indexPath()); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		w.said.Reset()
		x := w.open()
		w.whole(x, all, c.what)
		if !w.anew() {
			t.Errorf("%s: it is not said that it is made anew", c.what)
		}
		if err := x.Close(); err != nil {
			t.Errorf("%s: close: %v", c.what, err)
		}
	}
}

// replaced puts a file in the place of the index.
func (w *world) replaced(data []byte) {
	w.t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		lethetest.Must(w.t, os.RemoveAll(w.indexPath()+suffix))
	}
	lethetest.Must(w.t, os.WriteFile(w.indexPath(), data, 0o600))
}

// A search notices that an open index was removed or replaced, and so does a Sync.
func TestReplacedWhileOpen(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"removed":  func(string) error { return nil },
		"replaced": func(path string) error { return os.WriteFile(path, []byte("I am a text."), 0o600) },
	} {
		w, all := fruit(t, 50)
		x, other := w.synced(), w.synced()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			remove(t, w.indexPath()+suffix)
		}
		lethetest.Must(t, change(w.indexPath()))
		if _, err := x.Search(context.Background(), w.store, Query{Text: "apple", Now: w.now}); !errors.Is(err, ErrRebuilding) {
			t.Errorf("%s: %v", what, err)
		}
		w.whole(x, all, what)
		if !w.holds(other, all, what+", to another process") {
			t.Errorf("%s: another process does not find it", what)
		}
		if n := w.originals(); n != len(all) {
			t.Errorf("%s: %d originals", what, n)
		}
	}
}

// An original that cannot be read is told of: to who asks, each time, and to the
// log, once.
func TestLostOriginals(t *testing.T) {
	w := newWorld(t)
	gone := w.says("an apple tree by the river")
	damaged := w.says("an apple tree by the sea")
	here := w.says("an apple tree by the lake")
	x := w.synced()
	lethetest.Must(t, os.WriteFile(w.store.Path(damaged), []byte("---\nat: x\n---\nan apple tree, forged\n"), 0o600))
	remove(t, w.store.Path(gone))
	w.said.Reset()
	for range 3 {
		lost := map[blobs.Hash]error{}
		hits := w.search(x, Query{Text: "apple tree", Lost: func(h blobs.Hash, err error) { lost[h] = err }})
		if len(hits) != 1 || hits[0].Hash != here {
			t.Errorf("hits %s", show(hits))
		}
		if len(lost) != 2 || !errors.Is(lost[gone], blobs.ErrNotFound) || !errors.Is(lost[damaged], blobs.ErrDigest) {
			t.Errorf("lost %v", lost)
		}
	}
	for _, h := range []blobs.Hash{gone, damaged} {
		if n := strings.Count(w.said.String(), "hash="+h.String()); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", h, n, w.said.String())
		}
	}
}

// What a hit shows is what its blob says, and the blob is of this life. What somebody
// writes into the index can hide it, and no more.
func TestHitIsOfItsBlob(t *testing.T) {
	w := newWorld(t)
	heron := w.fades(w.heard("ops", "bob", "a heron at noon"))[0]
	x := w.synced()
	want := w.finds(x, "heron", heron)
	w.tampered("UPDATE docs SET entry_from = 77, entry_to = 99, first = first + 1000000, last = last + 86400000000")
	w.tampered("INSERT INTO terms(rowid, term) VALUES (1, 'osprey~3 =kind:note')")
	got := w.finds(x, "heron", heron)
	want.Score, got.Score = 0, 0
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if hits := w.search(x, Query{Text: "osprey"}); len(hits) != 0 {
		t.Errorf("a forged word is found: %s", show(hits))
	}
	if hits := w.search(x, Query{Text: "heron", Kind: "note"}); len(hits) != 0 {
		t.Errorf("a forged kind is found: %s", show(hits))
	}
	untimed := w.fades(w.worked("I look for quokkas.", "BASH", "{}", "none"))[0]
	w.sync(x)
	b, err := w.store.Get(untimed)
	lethetest.Must(t, err)
	w.tampered("UPDATE docs SET last = last + 86400000000 WHERE hash = ?", untimed[:])
	if h := w.finds(x, "quokkas", untimed); !h.At.Equal(b.At) {
		t.Errorf("at %v, and it faded at %v", h.At, b.At)
	}
	// A blob of another life is no hit.
	foreign := w.put(blobs.Meta{At: w.now, Gist: "foreign", Life: "ffff" + w.self.String()[4:]},
		"◆ e1 inbound room=dev ◱hash=0123456789abcdef gist=…◲\n[USER:x 2026-03-01T09:00:00Z] a heron of another life\n")
	w.tampered("UPDATE docs SET hash = ? WHERE hash = ?", foreign[:], heron[:])
	if hits := w.search(x, Query{Text: "heron"}); len(hits) > 0 {
		t.Errorf("found %s", show(hits))
	}
}
