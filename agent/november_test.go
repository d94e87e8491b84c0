package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// TestHomeOfNovember resumes a home that an older program wrote: the first
// requests are the same to the byte, debts are paid, every blob can be read.
func TestHomeOfNovember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Recall.NoHints = true
	w.conf.ContextLimit = 40_000
	lethetest.Must(t, os.RemoveAll(w.home.Dir))
	lethetest.Unpack(t, "testdata/november/home.tar.gz", filepath.Dir(w.home.Dir))
	var err error
	w.store, err = blobs.Open(w.home.Blobs())
	lethetest.Must(t, err)
	w.conf.Store = w.store
	for _, name := range []string{"ada", "bob"} {
		id, err := w.home.Find(name)
		lethetest.Must(t, err)
		seen := len(w.asked())
		r := w.run(id)
		r.settled()
		r.stop()
		want, err := os.ReadFile("testdata/november/" + name + ".json")
		lethetest.Must(t, err)
		if got := w.asked()[seen].Body; !bytes.Equal(got, want) {
			t.Errorf("the first request of %s is another one:\n%s", name, firstDifference(string(got), string(want)))
		}
		if owed := w.fold(id).Owed(); owed.Answer || len(owed.Calls)+len(owed.Posts) > 0 {
			t.Errorf("%s still owes %+v", name, owed)
		}
	}
	owed := slices.DeleteFunc(w.lines("dev"), func(l chat.Line) bool { return !l.Agent || l.Text != "12*7 = 84" })
	equal(t, "posts of the answer that was owed", len(owed), 1)
	n := 0
	lethetest.Must(t, w.store.Each(func(h blobs.Hash) error {
		n++
		_, err := w.store.Get(h)
		return err
	}))
	if n < 80 {
		t.Errorf("there are only %d blobs", n)
	}
}
