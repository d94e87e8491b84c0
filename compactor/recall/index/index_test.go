package index

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// The originals of an epoch, and those on the cards of a fork's, are read as the other packages write them.
func TestReadsEpochsOfTheMind(t *testing.T) {
	state := mind.New()
	store, err := blobs.Open(t.TempDir())
	lethetest.Must(t, err)
	put := func(text string) mind.Ref {
		h, err := store.Put(blobs.Meta{Life: "ab"}, []byte(text))
		lethetest.Must(t, err)
		return mind.Ref{Hash: h, Short: store.Short(h)}
	}
	listing := func(r mind.Ref, from, to int) string {
		return mind.Listing{Ref: blobs.Ref{Hash: r.Short, Gist: "g"}, From: from, To: to}.String() + "\n"
	}
	card := put("2 parts\n" + listing(put("one"), 1, 3) + listing(put("two"), 4, 9))
	state.Faded = []mind.Range{
		{From: 1, To: 9, Level: mind.Card, Tier: 2, Original: put("1 part\n" + listing(card, 1, 9))},
		{From: 65, To: 67, Level: mind.Gist, Original: put("original")},
	}
	body, err := state.Snapshot()
	lethetest.Must(t, err)
	epoch := put(string(body))
	x := &Index{Log: slog.New(slog.DiscardHandler), Owns: func(b blobs.Blob) bool { return b.Life == "ab" }}
	p := &pass{Index: x, store: store}
	if tasks := p.faded(epoch.Short, false); len(tasks) != 1 || tasks[0] != state.Faded[1].Original.Hash.String() {
		t.Errorf("an edit: %+v", tasks)
	}
	if tasks := p.faded(epoch.Short, true); len(tasks) != 3 || tasks[0] == tasks[1] {
		t.Errorf("a fork: %+v", tasks)
	}
	if tasks := p.faded(put(string(body[:len(body)/2])).Short, true); len(tasks) > 0 {
		t.Error("half an epoch is read")
	}
}

// Where the new state cannot be written, the runs stay that the state before names.
func TestSaveFailsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recall.db")
	lethetest.Write(t, path+"-run", "a run of the state before")
	lethetest.Must(t, os.Mkdir(path, 0o700)) // in the way
	if err := (&state{}).save(path); err == nil {
		t.Error("it is saved")
	}
	lethetest.Holds(t, path+"-run", "a run of the state before")
}
