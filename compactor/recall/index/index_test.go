package index

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// Runs are joined entry by entry: every posting is there, behind those of the run before, and no more memory is taken
// than what is read and what is written.
func TestJoin(t *testing.T) {
	const segments, terms = 300, 200
	random := rand.New(rand.NewPCG(1, 2))
	made := func(first int64) (*batch, map[uint64][]int64) {
		b, want := &batch{first: first, hashes: map[blobs.Hash]bool{}}, map[uint64][]int64{}
		for at := range int64(segments) {
			row := []uint64{}
			for range terms {
				key := keyOf(fmt.Sprint(random.IntN(5000), first/segments))
				if all := want[key]; len(all) == 0 || all[len(all)-1] != at {
					want[key] = append(all, at)
				}
				row = append(row, key)
			}
			for key := range uint64(50) { // which both runs have
				row = append(row, key<<4)
				want[key<<4] = append(want[key<<4], at)
			}
			lethetest.Must(t, b.take(document{Doc: Doc{Segment: at}, rows: [][]uint64{row}}))
		}
		b.encode()
		return b, want
	}
	path := filepath.Join(t.TempDir(), "recall.db")
	older, want := made(1)
	before, err := older.write(path)
	lethetest.Must(t, err)
	newer, more := made(1 + segments)
	var begun, done runtime.MemStats
	runtime.ReadMemStats(&begun)
	lethetest.Must(t, newer.join(before))
	runtime.ReadMemStats(&done)
	joined, err := newer.write(path)
	lethetest.Must(t, err)
	if took := int64(done.TotalAlloc - begun.TotalAlloc); took > 2*joined.Size {
		t.Errorf("%d bytes to join a run of %d", took, joined.Size)
	}
	for key, all := range more {
		for _, at := range all {
			want[key] = append(want[key], at+segments)
		}
	}
	for key, all := range want {
		lists, err := joined.lists(key)
		lethetest.Must(t, err)
		got := slices.Collect(joined.segments(lists[0]))
		slices.Reverse(got)
		if !slices.Equal(got, all) {
			t.Fatalf("%x: %d segments, not %d", key, len(got), len(all))
		}
	}
	if joined.First != 1 || joined.N != 2*segments {
		t.Errorf("%+v", joined)
	}
}

// A run with damaged entries is not joined: the index is made anew, instead of lacking all behind them for good.
func TestJoinDamaged(t *testing.T) {
	made := func(first int64) *batch {
		b := &batch{first: first, hashes: map[blobs.Hash]bool{}}
		for range 3 {
			lethetest.Must(t, b.take(document{rows: [][]uint64{{keyOf("one"), keyOf("two"), keyOf("three")}}}))
		}
		b.encode()
		return b
	}
	for what, change := range map[string]func(entries []byte){
		"whole":                         func([]byte) {},
		"a count that is too large":     func(e []byte) { e[1] = 0xff },
		"a count that is too small":     func(e []byte) { e[0]-- },
		"a key that is out of order":    func(e []byte) { e[7] = 0xff },
		"a segment that is not there":   func(e []byte) { e[12] = 3 },
		"a segment that is there twice": func(e []byte) { e[12] = 1 },
	} {
		path := filepath.Join(t.TempDir(), "recall.db")
		before := made(1)
		change(before.entries)
		run, err := before.write(path)
		lethetest.Must(t, err)
		if err := made(4).join(run); errors.Is(err, errDamaged) != (what != "whole") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
