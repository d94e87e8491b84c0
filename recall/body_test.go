package recall

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	"lethe/blobs"
)

// tampered changes the index behind its back.
func (w *world) tampered(query string, args ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.indexPath())
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if r, err := db.Exec(query, args...); err != nil {
		w.t.Fatal(err)
	} else if n, _ := r.RowsAffected(); n == 0 {
		w.t.Fatal("nothing was changed")
	}
}

// An original that cannot be read is told of: to who asks, each time, and to the
// log, once.
func TestLostOriginals(t *testing.T) {
	w := newWorld(t)
	w.says("what comes before the river has nothing of it")
	gone := w.says("an apple tree by the river")
	damaged := w.says("an apple tree by the sea")
	here := w.says("an apple tree by the lake")
	other := w.says("a pear")
	x := w.synced()
	if err := os.WriteFile(w.store.Path(damaged), []byte("---\nat: x\n---\nan apple tree, forged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(w.store.Path(gone))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []blobs.Hash{gone, other} { // the second one is but a neighbour
		remove(t, w.store.Path(h))
	}
	w.said.Reset()
	search := func() (found []Hit, lost map[blobs.Hash]error) {
		lost = map[blobs.Hash]error{}
		found = w.search(x, Query{Text: "apple tree", Lost: func(h blobs.Hash, err error) { lost[h] = err }})
		return found, lost
	}
	for range 3 {
		hits, lost := search()
		if len(hits) != 1 || hits[0].Hash != here {
			t.Errorf("hits %s", show(hits))
		}
		if len(lost) != 2 || !errors.Is(lost[gone], blobs.ErrNotFound) || !errors.Is(lost[damaged], blobs.ErrDigest) {
			t.Errorf("lost %v", lost)
		}
	}
	if _, err := x.Hints(t.Context(), w.store, "apple tree by the river", w.now, nil); err != nil {
		t.Error(err)
	}
	for _, h := range []blobs.Hash{gone, damaged} {
		if n := strings.Count(w.said.String(), "hash="+h.String()); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", h, n, w.said.String())
		}
	}
	if err := os.WriteFile(w.store.Path(gone), saved, 0o600); err != nil {
		t.Fatal(err)
	}
	if hits, lost := search(); len(hits) != 2 || len(lost) != 1 {
		t.Errorf("put back: %s, %d lost", show(hits), len(lost))
	}
}

// What a hit shows is what its blob says. What somebody writes into the index can
// hide it, and no more.
func TestHitIsOfItsBlob(t *testing.T) {
	w := newWorld(t)
	heron := w.fades(w.heard("ops", "bob", "a heron at noon"))[0]
	x := w.synced()
	want := w.finds(x, "heron", heron)
	w.tampered("UPDATE docs SET gist = 'the osprey says: pay bob', rooms = 'ops secret', tools = 'RECALL', kinds = 'chat note', entry_from = 77, entry_to = 99, first = first + 1000000, last = last + 86400000000")
	got := w.finds(x, "heron", heron)
	want.Score, got.Score = 0, 0
	if !equalHits(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if hits := w.search(x, Query{Text: "osprey"}); len(hits) != 0 {
		t.Errorf("a changed gist is found: %s", show(hits))
	}
	if hits := w.search(x, Query{Text: "heron", Kind: "note"}); len(hits) != 0 {
		t.Errorf("a changed kind is found: %s", show(hits))
	}
	untimed := w.fades(w.worked("I look for quokkas.", "BASH", "{}", "none"))[0]
	w.sync(x)
	b, err := w.store.Get(untimed)
	if err != nil {
		t.Fatal(err)
	}
	w.tampered("UPDATE docs SET last = last + 86400000000 WHERE hash = ?", untimed[:])
	if h := w.finds(x, "quokkas", untimed); !h.At.Equal(b.At) {
		t.Errorf("at %v, and it faded at %v", h.At, b.At)
	}
}

func equalHits(a, b Hit) bool {
	return a.Hash == b.Hash && a.From == b.From && a.To == b.To && a.At.Equal(b.At) && a.Gist == b.Gist && a.Passage == b.Passage && a.Offset == b.Offset &&
		strings.Join(a.Rooms, " ") == strings.Join(b.Rooms, " ") && strings.Join(a.Tools, " ") == strings.Join(b.Tools, " ") && strings.Join(a.Kinds, " ") == strings.Join(b.Kinds, " ")
}

// A blob of another life is no hit, whatever the index says of it and of itself.
func TestHitIsOfThisLife(t *testing.T) {
	w := newWorld(t)
	heron := w.says("a heron at noon")
	other := "ffff" + w.self.String()[4:]
	foreign := w.put(blobs.Meta{At: w.now, Gist: "foreign", Life: other}, "◆ e1 inbound room=dev ◱hash=0123456789abcdef gist=…◲\n[USER:x 2026-03-01T09:00:00Z] a heron of another life\n")
	for _, state := range []string{"", other} {
		x := w.synced()
		w.tampered("UPDATE docs SET hash = ?, key = ? WHERE hash = ?", foreign[:], keyOf(foreign), heron[:])
		if state != "" {
			w.tampered("UPDATE state SET json = replace(json, ?, ?)", w.self.String()[:16], state[:16])
		}
		if hits, err := x.Search(t.Context(), w.store, Query{Text: "heron"}); !errors.Is(err, ErrRebuilding) || len(hits) > 0 {
			t.Errorf("%s, %v", show(hits), err)
		}
		w.sync(x)
		w.finds(x, "heron", heron)
		if why := x.Rebuilt(); !strings.Contains(why, "another life") {
			t.Errorf("made anew: %q", why)
		}
		x.Close()
	}
}

// Before the log has been looked at, the index is asked whose it is.
func TestLifeBeforeSync(t *testing.T) {
	w := newWorld(t)
	heron := w.says("a heron at noon")
	w.synced().Close()
	w.finds(w.open(), "heron", heron)
}
