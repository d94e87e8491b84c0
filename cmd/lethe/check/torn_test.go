package check_test

import (
	"testing"
	"time"

	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/life/event"
)

// A power loss has taken a text of the last append: checks see an end that never happened and no fault, and a repair
// sets it aside. A damaged text that no line names is left over from such a moment, too.
func TestTornText(t *testing.T) {
	for _, lose := range []bool{true, false} {
		w := newWorld(t)
		ada := w.id("ada")
		whole := w.verify(ada, nil)
		w.held(ada, func(held *journal.Journal) {
			two := journal.Text{Gist: "two", Data: []byte("two")}
			w.must(held.Commit(journal.Told(event.Note{N: held.State.Next, Why: "test"}, "one", "one", two)))
		})
		w.hurt(w.newest(ada, "note", 0), lose)
		unnamed, err := w.store.Put(blobs.Meta{At: time.Now(), Life: ada.Self}, []byte("its line never came"))
		w.must(err)
		w.hurt(unnamed, false)

		r, err := check.Home(w.home, w.store, check.Options{})
		w.must(err)
		kinds := map[string]int{}
		for _, f := range r.Findings {
			kinds[f.Kind]++
		}
		if r.Faults > 0 || kinds["torn end"] != 1 || kinds["stray file"] == 0 {
			t.Errorf("found %v", r.Findings)
		}
		verify := func(torn bool) {
			t.Helper()
			if v := w.verify(ada, nil); v.Fault != nil || (v.Torn != 0) != torn || v.Lines != whole.Lines {
				t.Errorf("%+v, and it had %d lines", v, whole.Lines)
			}
		}
		verify(true)
		if _, err := check.Collect(w.home, w.store, true); err != nil {
			t.Error(err)
		}
		w.mended("a torn end")
		verify(false)
		w.epoch(ada)
		w.sound()
	}
}

// A damaged text that only a room names is damage: nobody has heard of it yet.
func TestDamagedUploadIsNoStray(t *testing.T) {
	w := newWorld(t)
	h, err := w.store.Put(blobs.Meta{At: time.Now()}, []byte("an upload"))
	w.must(err)
	add(t, w.home.Chats()+"/dev.md", "[USER:ann 2026-11-20T12:57:17Z] look at hash="+h.String()+"\n")
	w.hurt(h, false)
	r, err := check.Home(w.home, w.store, check.Options{})
	w.must(err)
	if r.Faults != 1 || r.Findings[0].Kind != "damaged blob" {
		t.Errorf("found %v", r.Findings)
	}
}

// A repair of an older program was torn before its seal, and the life went on: what nothing seals is told once more,
// and the life can be verified again.
func TestToldWithoutASeal(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	buried := w.bury(w.resolve(refs(t, ada, "inbound")[3]), blobs.Lost, check.LostText)
	w.held(ada, func(held *journal.Journal) { w.must(held.Commit(buried)) })
	w.epoch(ada) // another append, with a seal that does not count for it
	if v := w.verify(ada, nil); v.Fault == nil {
		t.Error("what no seal says counts")
	}
	w.mended("unrecorded loss")
	if v := w.verify(ada, nil); v.Fault != nil {
		t.Error(v.Fault)
	}
}
