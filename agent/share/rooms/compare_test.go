package rooms

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// Whatever entries the store has lost, a host that has read them writes them again: a new host has the same rooms, and
// so have the others. It says so once.
func TestCompared(t *testing.T) {
	t.Parallel()
	for what, lost := range map[string][]int{"the first": {1}, "one": {5}, "two apart": {3, 7}, "the newest": {10}, "some newest": {8, 9, 10}} {
		store, a, b := two(t)
		for n := range 5 {
			a.echo(t, "dev", fmt.Sprintf("a says %d\n", n))
			a.sync(t)
			b.echo(t, "ops", fmt.Sprintf("b says %d\n", n))
			b.sync(t)
		}
		a.sync(t)
		lethetest.Must(t, a.Compare(t.Context(), false))
		for _, n := range lost {
			store.Remove(Stream, n)
		}
		var told []string
		a.OnLoss = func(what error) { told = append(told, what.Error()) }
		for range 2 {
			lethetest.Must(t, a.Compare(t.Context(), false))
		}
		if len(told) != 1 {
			t.Errorf("%s: told %q", what, told)
		}
		b.echo(t, "dev", "and b\n")
		b.sync(t)
		a.sync(t)
		c := newHost(t, store, "c")
		c.sync(t)
		for _, room := range []string{"dev", "ops"} {
			text := lethetest.Read(t, Path(a.Dir, room))
			if strings.Count(text, "\n") < 5 {
				t.Errorf("%s: %q", what, text)
			}
			b.holds(t, room, text)
			c.holds(t, room, text)
		}
	}
}

// Of two hosts that find a loss one makes the stream anew.
func TestComparedByOne(t *testing.T) {
	t.Parallel()
	store, a, b := two(t)
	for n := range 4 {
		a.echo(t, "dev", fmt.Sprintf("%d\n", n))
		a.sync(t)
	}
	b.sync(t)
	store.Remove(Stream, 2)
	within := false
	store.Fault = func(op, stream string, n int) (bool, error) {
		if op == "create" && strings.Contains(stream, "/packs") && !within {
			within = true
			lethetest.Must(t, b.Compare(t.Context(), false))
		}
		return true, nil
	}
	lethetest.Must(t, a.Compare(t.Context(), false))
	store.Fault = nil
	if packs, _ := store.Newest(t.Context(), Stream+"/packs", 0); packs != 1 || !within {
		t.Errorf("made anew %d times", packs)
	}
	b.sync(t)
	b.holds(t, "dev", "0\n1\n2\n3\n")
}

// What hosts said in a store without its newest entries is not lost to what another host writes again: that is refused.
func TestComparedWithOtherLines(t *testing.T) {
	t.Parallel()
	store, a, b := two(t)
	for n := range 4 {
		a.echo(t, "dev", fmt.Sprintf("%d\n", n))
		a.sync(t)
	}
	for n := 2; n <= 4; n++ {
		store.Remove(Stream, n)
	}
	b.echo(t, "dev", "b\n")
	b.sync(t)
	before, _ := store.Newest(t.Context(), Stream, 0)
	err := a.Compare(t.Context(), false)
	if err == nil {
		t.Fatal("written over what another host has said")
	}
	lethetest.Words(t, err.Error(), "entry 2 has other lines of room dev than this host")
	if after, _ := store.Newest(t.Context(), Stream, 0); after != before {
		t.Error("something was written")
	}
}

// A file that a line names, and that the store has lost, is stored again.
func TestComparedFiles(t *testing.T) {
	t.Parallel()
	store, a, b := two(t)
	hash, err := a.Store.Put(blobs.Meta{}, bytes.Repeat([]byte("picture"), 9))
	lethetest.Must(t, err)
	a.echo(t, "dev", "see hash="+hash.String()+"\n")
	a.sync(t)
	all, err := store.List(t.Context(), Stream+"/texts/")
	lethetest.Must(t, err)
	store.Remove(all[0], 1)
	lethetest.Must(t, a.Compare(t.Context(), false))
	b.sync(t)
	if !b.Store.Has(hash) {
		t.Error("b has no file")
	}
}
