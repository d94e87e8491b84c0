package recall

import (
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// What may have happened to the files between two processes.
func TestDamagedFile(t *testing.T) {
	w, all := fruit(t, 150)
	w.synced()
	good := w.files()
	write := func(data string) func() {
		return func() { lethetest.Must(t, os.WriteFile(w.indexPath(), []byte(data), 0o600)) }
	}
	state := string(good[w.indexPath()])
	cut := func(from, to int) func() {
		return func() {
			run := w.runs()[0]
			lethetest.Must(t, os.WriteFile(run, good[run][len(good[run])*from/8:len(good[run])*to/8], 0o600))
		}
	}
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"empty", write("")},
		{"cut in half", write(state[:len(state)/2])},
		{"no state", write(strings.Repeat("I am a text. ", 1000))},
		{"SQLite's, of an older version", write("SQLite format 3\x00" + strings.Repeat("\x00", 4080))},
		{"an earlier version's", write(strings.Replace(state, `"format":12`, `"format":8`, 1))},
		{"a later version's", write(strings.Replace(state, `"format":12`, `"format":99`, 1))},
		{"with segments that do not follow each other", write(strings.Replace(state, `"first":1,`, `"first":2,`, 1))},
		{"with a run elsewhere", write(strings.Replace(state, `"file":"`, `"file":"/../`, 1))},
		{"without its run", func() { remove(t, w.runs()[0]) }},
		{"with half a run", cut(0, 4)},
		{"without the beginning of a run", cut(1, 8)},
	} {
		w.replaced(good)
		c.change()
		w.said.Reset()
		x := w.open()
		w.whole(x, all, c.what)
		if !w.anew() {
			t.Errorf("%s: it is not said that it is made anew", c.what)
		}
	}
}

// Whatever the bytes of a run are, nothing is found that is not of this life, and nothing crashes.
func TestAnyBytes(t *testing.T) {
	w, all := fruit(t, 5)
	w.synced()
	good, r := w.files(), rand.New(rand.NewPCG(1, 2))
	for range 60 {
		w.replaced(good)
		run := w.runs()[0]
		data := slices.Clone(good[run])
		for range 1 + r.IntN(12) {
			data[r.IntN(len(data))] = byte(r.IntN(256))
		}
		lethetest.Must(t, os.WriteFile(run, data, 0o600))
		x := w.open()
		w.holds(x, all, "with any bytes")
		w.says("a pear")
		w.sync(x)
		w.holds(x, all, "and synced")
	}
}

// files are all that the index consists of.
func (w *world) files() map[string][]byte {
	w.t.Helper()
	out := map[string][]byte{}
	for _, path := range append(w.runs(), w.indexPath()) {
		data, err := os.ReadFile(path)
		lethetest.Must(w.t, err)
		out[path] = data
	}
	return out
}

// replaced puts files in the place of the index.
func (w *world) replaced(files map[string][]byte) {
	w.t.Helper()
	for path, data := range files {
		lethetest.Must(w.t, os.WriteFile(path, data, 0o600))
	}
}

// A search notices that an open index was removed or replaced, and so does a Sync.
func TestReplacedWhileOpen(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"removed":  func(string) error { return nil },
		"replaced": func(path string) error { return os.WriteFile(path, []byte("I am a text."), 0o600) },
	} {
		w, all := fruit(t, 50)
		x, other := w.synced(), w.synced()
		remove(t, w.indexPath())
		lethetest.Must(t, change(w.indexPath()))
		if _, err := w.trySearch(x, "apple"); !errors.Is(err, ErrRebuilding) {
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
		found, err := w.trySearch(x, "apple tree")
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Hash != here || found.Lost != 2 {
			t.Errorf("hits %s, %d lost, %v", show(found.Hits), found.Lost, err)
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
	w.tampered(func(r record) { r[40], r[48], r[56] = r[40]+77, r[48]+1, r[56]+1 })
	got := w.finds(x, "heron", heron)
	want.Score, got.Score = 0, 0
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
	untimed := w.fades(w.worked("I look for quokkas.", "BASH", "{}", "none"))[0]
	w.sync(x)
	b, err := w.store.Get(untimed)
	lethetest.Must(t, err)
	w.tampered(func(r record) { r[60]++ })
	if h := w.finds(x, "quokkas", untimed); !h.At.Equal(b.At) {
		t.Errorf("at %v, and it faded at %v", h.At, b.At)
	}
	// A word is not found where another original stands in the place of its own, nor in a blob of another life.
	foreign := w.put(blobs.Meta{At: w.now, Gist: "foreign", Life: "ffff" + w.self.String()[4:]},
		"◆ e1 inbound room=dev ◱hash=0123456789abcdef gist=…◲\n[USER:x 2026-03-01T09:00:00Z] a heron of another life\n")
	for _, h := range []blobs.Hash{untimed, foreign} {
		w.tampered(func(r record) { copy(r, h[:]) })
		if hits := w.search(x, Query{Text: "heron"}); len(hits) > 0 {
			t.Errorf("found %s", show(hits))
		}
	}
}
