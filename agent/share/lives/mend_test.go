package lives

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// spoil deletes a text, or flips a bit of it.
func spoil(store *memstore.Store, stream string, n int, flip bool) {
	if !flip {
		store.Remove(stream, n)
		return
	}
	text := store.Bytes(stream, n)
	text[len(text)/3] ^= 1
	store.Set(stream, n, text)
}

// lossy returns a host with a life in packs and loose texts, and the numbers of its stream and of its packs. The stream
// was read up to its beginning only, as after a kill.
func lossy(t *testing.T) (store *memstore.Store, a, b *host, ada home.Identity, newest, packs int) {
	store, a, b, ada = two(t)
	keys, err := seal.Load(a.Home.Dir, nil, true)
	lethetest.Must(t, err)
	a.Streams.Keys, b.Streams.Keys = keys, keys
	a.held(ada, func(*journal.Journal) {})
	was := lethetest.Read(t, positionFile(ada))
	lethetest.Write(t, filepath.Join(ada.Dir, "MEMORY.md"), "the first\n")
	a.held(ada, func(j *journal.Journal) {
		for n := range 12 {
			a.notes(j, fmt.Sprintf("note %d", n), strings.Repeat(fmt.Sprintf("long %d ", n), 9000))
			if n%4 == 3 {
				lethetest.Must(t, j.Epoch("count", nil))
				a.last.beside.Wait()
			}
		}
		lethetest.Write(t, filepath.Join(ada.Dir, "MEMORY.md"), "remember\n")
		a.notes(j, "end")
	})
	lethetest.Write(t, positionFile(ada), was)
	newest, err = store.Newest(t.Context(), Stream(ada.Self), 0)
	lethetest.Must(t, err)
	packs, err = store.Newest(t.Context(), Stream(ada.Self)+"/packs/0", 0)
	lethetest.Must(t, err)
	if packs < 2 {
		t.Fatalf("the life has %d packs", packs)
	}
	return store, a, b, ada, newest, packs
}

// Whatever single text the store loses, the host that has the life starts, also after a kill, and writes it again:
// another host takes the same life.
func TestMended(t *testing.T) {
	t.Parallel()
	_, _, _, _, newest, packs := lossy(t)
	places := map[string][]int{"/packs/0": {1, packs}, "": {newest, newest - 1}}
	for below, numbers := range places {
		for _, n := range numbers {
			for _, flip := range []bool{false, true} {
				what := fmt.Sprintf("lives/…%s %d, flipped %v", below, n, flip)
				store, a, b, ada, _, _ := lossy(t)
				was := a.life(ada)
				spoil(store, Stream(ada.Self)+below, n, flip)
				isCutBack := n == newest && !flip // which nobody can tell
				if !isCutBack {
					if err := b.take(ada); err == nil {
						t.Errorf("%s: half a life is taken", what)
					}
				}
				j, err := a.hold(ada)
				if err != nil {
					t.Errorf("%s: its host does not start: %v", what, err)
					continue
				}
				lethetest.Must(t, j.Commit(note("after")))
				j.Close()
				if !strings.HasPrefix(a.life(ada), was) {
					t.Errorf("%s: lines of the life are gone", what)
				}
				os.RemoveAll(b.Home.Identity(ada.Self, "ada").Dir)
				if err := b.take(ada); err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				b.held(ada, func(*journal.Journal) {})
				b.sound(ada, "note 0", "long 5 long 5", "note 11", "end", "after")
				if !strings.HasPrefix(b.life(ada), a.life(ada)) {
					t.Errorf("%s: the logs differ", what)
				}
				lethetest.Holds(t, filepath.Join(b.Home.Identity(ada.Self, "ada").Dir, "MEMORY.md"), "remember\n")
			}
		}
	}
}

// A host from which a life was taken does not go on with it, whatever the store has lost.
func TestMendedByItsHostOnly(t *testing.T) {
	t.Parallel()
	for _, flip := range []bool{false, true} {
		store, a, b, ada, newest, _ := lossy(t)
		lethetest.Must(t, b.take(ada))
		b.held(ada, func(j *journal.Journal) { b.notes(j, "at b") })
		spoil(store, Stream(ada.Self), newest+1, flip) // with which b has begun
		if _, err := a.hold(ada); err == nil {
			t.Error("two hosts have a life")
		}
		b.held(ada, func(j *journal.Journal) { b.notes(j, "still at b") })
	}
}

// A restore brings what can be read, says what not, and the life goes on from there.
func TestRestoredWithLosses(t *testing.T) {
	t.Parallel()
	for _, flip := range []bool{false, true} {
		store, a, b, ada, _, _ := lossy(t)
		was := a.life(ada)
		spoil(store, Stream(ada.Self)+"/packs/0", 2, flip)
		var lost []string
		b.Lost = func(_ home.Identity, what error) { lost = append(lost, what.Error()) }
		lethetest.Must(t, b.take(ada))
		b.Lost = nil
		if len(lost) == 0 || !strings.Contains(lost[0], "pack 2") {
			t.Errorf("told of %q", lost)
		}
		b.sound(ada, "note 0")
		there := b.Home.Identity(ada.Self, "ada")
		lethetest.Words(t, lethetest.Read(t, there.LIFE()+".torn-store"), "note e25 ")
		lethetest.Holds(t, filepath.Join(there.Dir, "MEMORY.md"), "remember\n")
		b.held(ada, func(j *journal.Journal) { b.notes(j, "goes on") })
		if b.life(ada) == was || strings.Contains(b.life(ada), "note e25 why=lost ◱hash=89") {
			t.Error("the life goes on behind what it does not know")
		}
		b.sound(ada, "note 0", "goes on")
		lethetest.Must(t, errors.Join(os.Remove(there.LIFE()+".torn-store")))
	}
}
