package check

import (
	"os"
	"testing"
	"time"

	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
)

// A power loss has taken a text of the last append: checks see an end that never happened and no fault, and a repair sets it aside.
// A damaged text that no line names is left over from such a moment, too.
func TestTornText(t *testing.T) {
	for _, lose := range []bool{true, false} {
		w := newWorld(t)
		ada := w.id("ada")
		whole := w.verify(ada, nil)
		held, err := journal.Hold(w.home, ada, w.store, nil)
		lethetest.Must(t, err)
		lethetest.Must(t, held.Commit(journal.Record{Event: event.Note{N: held.State.Next, Why: "test"},
			Texts: []journal.Text{{Gist: "one", Data: []byte("one")}, {Gist: "two", Data: []byte("two")}}}))
		lethetest.Must(t, held.Close())
		notes := refs(t, ada, "note")
		h, err := w.store.Resolve(notes[len(notes)-1])
		lethetest.Must(t, err)
		w.hurt(h, lose)
		unnamed, err := w.store.Put(blobs.Meta{At: time.Now(), Life: ada.Self}, []byte("its line never came"))
		lethetest.Must(t, err)
		w.hurt(unnamed, false)

		r, err := Home(w.home, w.store, Options{})
		lethetest.Must(t, err)
		kinds := map[string]int{}
		for _, f := range r.Findings {
			kinds[f.Kind]++
		}
		if r.Faults > 0 || kinds["torn end"] != 1 || kinds["stray file"] == 0 {
			t.Errorf("found %v", r.Findings)
		}
		if v := w.verify(ada, nil); v.Fault != nil || v.Torn == 0 || v.Lines != whole.Lines {
			t.Errorf("%+v, and it had %d lines", v, whole.Lines)
		}
		if _, err := Collect(w.home, w.store, true); err != nil {
			t.Error(err)
		}
		w.mended("a torn end")
		if v := w.verify(ada, nil); v.Fault != nil || v.Torn != 0 || v.Lines != whole.Lines {
			t.Errorf("%+v, and it had %d lines", v, whole.Lines)
		}
		held, err = journal.Hold(w.home, ada, w.store, nil)
		lethetest.Must(t, err)
		lethetest.Must(t, held.Epoch("count", nil))
		lethetest.Must(t, held.Close())
		if found := w.fsck(); len(found) > 0 {
			t.Errorf("found %q", found)
		}
	}
}

// A damaged text that only a room names is damage: nobody has heard of it yet.
func TestDamagedUploadIsNoStray(t *testing.T) {
	w := newWorld(t)
	h, err := w.store.Put(blobs.Meta{At: time.Now()}, []byte("an upload"))
	lethetest.Must(t, err)
	room, err := os.OpenFile(w.home.Chats()+"/dev.md", os.O_WRONLY|os.O_APPEND, 0)
	lethetest.Must(t, err)
	_, err = room.WriteString("[USER:ann 2026-11-20T12:57:17Z] look at hash=" + h.String() + "\n")
	lethetest.Must(t, err)
	lethetest.Must(t, room.Close())
	w.hurt(h, false)
	r, err := Home(w.home, w.store, Options{})
	lethetest.Must(t, err)
	if r.Faults != 1 || r.Findings[0].Kind != "damaged blob" {
		t.Errorf("found %v", r.Findings)
	}
}

// A repair of an older program was torn before its seal, and the life went on: what nothing seals is told once more, and
// the life can be verified again.
func TestToldWithoutASeal(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	h, err := w.store.Resolve(refs(t, ada, "inbound")[3])
	lethetest.Must(t, err)
	b, err := w.store.Get(h)
	lethetest.Must(t, err)
	tomb, err := w.store.Bury(blobs.Tombstone{Of: h, Why: blobs.Lost, At: time.Now()}, b.Meta, []byte(LostText))
	lethetest.Must(t, err)
	held, err := journal.Hold(w.home, ada, w.store, nil)
	lethetest.Must(t, err)
	lethetest.Must(t, held.Commit(journal.Record{Event: event.Erased{Why: blobs.Lost,
		Blobs: []event.Buried{{Address: h.String(), Tombstone: tomb.String()}}}}))
	lethetest.Must(t, held.Epoch("count", nil)) // another append, whose seal does not count for it
	lethetest.Must(t, held.Close())
	if v := w.verify(ada, nil); v.Fault == nil {
		t.Error("what no seal says counts")
	}
	w.mended("unrecorded loss")
	if v := w.verify(ada, nil); v.Fault != nil {
		t.Error(v.Fault)
	}
}
