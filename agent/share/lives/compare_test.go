package lives

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
	"lethe/life/event"
)

// told has a host keep what it tells of losses.
func (h *host) told() *[]string {
	var all []string
	h.OnLoss = func(_ home.Identity, what error) { all = append(all, what.Error()) }
	return &all
}

// strict has a store refuse a number unless the one before it is there, as JetStream does.
func strict(store *memstore.Store) {
	store.Fault = func(op, stream string, n int) (bool, error) {
		isAhead := op == "create" && n > 1 && store.Bytes(stream, n-1) == nil && store.Bytes(stream, n) == nil
		if isAhead && strings.HasPrefix(stream, "lives/") {
			return false, fmt.Errorf("create %s %d: %w", stream, n, share.ErrAway)
		}
		return true, nil
	}
}

// A host whose life runs finds by listings what the store has lost of it, whatever that is, says so once, and writes it
// again: another host takes the same life.
func TestCompared(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("big ", 200_000)
	work := strings.Repeat("work ", 200_000)
	large := func(text string) func(a *host, stream string, newest, packs int) (string, []int) {
		return func(a *host, stream string, _, _ int) (string, []int) {
			salt, err := a.Streams.Get(t.Context(), "salt", 1)
			lethetest.Must(t, err)
			for _, hash := range []blobs.Hash{blobs.Sum([]byte(text))} {
				name := blobs.Sum(append(salt, hash[:]...))
				return stream + "/texts/" + name.String(), []int{1}
			}
			return "", nil
		}
	}
	blob := func(a *host, stream string, newest, packs int) (string, []int) {
		var found blobs.Hash
		lethetest.Must(t, a.store.Each(func(hash blobs.Hash) error {
			if text, err := os.ReadFile(a.store.Path(hash)); err == nil && len(text) > segmentSize {
				found = blobs.Sum(text)
			}
			return nil
		}))
		salt, err := a.Streams.Get(t.Context(), "salt", 1)
		lethetest.Must(t, err)
		return stream + "/texts/" + blobs.Sum(append(salt, found[:]...)).String(), []int{2}
	}
	for what, place := range map[string]func(a *host, stream string, newest, packs int) (string, []int){
		"the newest":         func(_ *host, s string, newest, _ int) (string, []int) { return s, []int{newest} },
		"the newest three":   func(_ *host, s string, n, _ int) (string, []int) { return s, []int{n, n - 1, n - 2} },
		"one before":         func(_ *host, s string, newest, _ int) (string, []int) { return s, []int{newest - 1} },
		"the first pack":     func(_ *host, s string, _, _ int) (string, []int) { return s + "/packs/0", []int{1} },
		"the last pack":      func(_ *host, s string, _, packs int) (string, []int) { return s + "/packs/0", []int{packs} },
		"a piece of a text":  blob,
		"a file of the work": large(work),
	} {
		store, a, b, ada, _, _ := lossy(t)
		lethetest.Write(t, filepath.Join(ada.Dir, "workspace", "work"), work)
		stream := Stream(ada.Self)
		j, err := a.hold(ada)
		lethetest.Must(t, err)
		j.Snapshot()
		a.notes(j, big, "before")
		a.last.beside.Wait()
		lethetest.Must(t, a.last.Compare(context.Background(), false))
		newest, _ := store.Newest(t.Context(), stream, 0)
		packs, _ := store.Newest(t.Context(), stream+"/packs/0", 0)
		name, numbers := place(a, stream, newest, packs)
		for _, n := range numbers {
			if store.Bytes(name, n) == nil {
				t.Fatalf("%s: %s has no text %d", what, name, n)
			}
			store.Remove(name, n)
		}
		told := a.told()
		strict(store)
		for range 2 {
			if err := a.last.Compare(context.Background(), false); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if len(*told) != 1 {
			t.Errorf("%s: told %q", what, *told)
		}
		a.notes(j, "after")
		lethetest.Must(t, j.Close())
		a.held(ada, func(*journal.Journal) {})
		if err := b.take(ada); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		b.held(ada, func(*journal.Journal) {})
		b.sound(ada, "note 0", "long 5 long 5", "note 11", "end", "big big", "before", "after")
		if !strings.HasPrefix(b.life(ada), a.life(ada)) {
			t.Errorf("%s: the logs differ", what)
		}
		there := b.Home.Identity(ada.Self, "ada").Dir
		lethetest.Holds(t, filepath.Join(there, "MEMORY.md"), "remember\n")
		lethetest.Holds(t, filepath.Join(there, "workspace", "work"), work)
	}
}

// What lies damaged in the store is written again where somebody has found it so.
func TestComparedWhereDamaged(t *testing.T) {
	t.Parallel()
	store, a, b, ada, _, _ := lossy(t)
	j, err := a.hold(ada)
	lethetest.Must(t, err)
	a.last.beside.Wait()
	spoil(store, Stream(ada.Self)+"/packs/0", 1, true)
	lethetest.Must(t, a.last.Compare(context.Background(), false))
	if err := b.take(ada); err == nil {
		t.Error("half a life is taken")
	}
	lethetest.Must(t, a.last.Compare(context.Background(), true))
	lethetest.Must(t, j.Close())
	lethetest.Must(t, b.take(ada))
	b.held(ada, func(*journal.Journal) {})
	b.sound(ada, "note 0", "long 5 long 5", "end")
}

// A host finds that the newest texts are gone before its next call, and by its next opening; another host that has read
// some of them reads the life anew when they are back. Cut short at any step, it goes on.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	for k, whole := 0, false; !whole; k++ {
		store, a, b, ada := two(t)
		stream := Stream(ada.Self)
		long := strings.Repeat("long ", 20_000)
		j, err := a.hold(ada)
		lethetest.Must(t, err)
		there := b.Home.Identity(ada.Self, "ada")
		for n := range 12 {
			a.notes(j, fmt.Sprintf("note %d", n), fmt.Sprint(n, long))
			if n == 9 {
				_, err := b.Copy(t.Context(), there, b.store)
				lethetest.Must(t, err)
			}
		}
		newest, _ := store.Newest(t.Context(), stream, 0)
		for n := newest; n > newest-9; n-- {
			store.Remove(stream, n)
		}
		was := a.life(ada)
		told := a.told()
		calls := cuts(store, k, k%2 == 0, creates)
		a.last.acked = a.last.acked.Add(-2 * freshFor)
		err = j.Check(context.Background())
		whole = *calls <= k
		strict(store)
		if err != nil || len(*told) == 0 {
			t.Fatalf("cut %d: %v, told %q", k, err, *told)
		}
		place := lethetest.Read(t, positionFile(ada))
		lethetest.Must(t, j.Close())
		if k%3 == 0 { // it was killed
			lethetest.Write(t, positionFile(ada), place)
		}
		again := newHostOf(a)
		again.held(ada, func(j *journal.Journal) { again.notes(j, "after") })
		if !strings.HasPrefix(a.life(ada), was) {
			t.Fatalf("cut %d: lines are gone", k)
		}
		lethetest.Must(t, b.take(ada))
		b.held(ada, func(*journal.Journal) {})
		b.sound(ada, "note 0", "note 11", "11long", "after")
		if !strings.HasPrefix(b.life(ada), again.life(ada)) {
			t.Fatalf("cut %d: the logs differ", k)
		}
	}
}

// A host that ships all the time finds that the store was rolled back meanwhile when it packs, and writes again what is gone.
func TestRolledBackWhileBusy(t *testing.T) {
	t.Parallel()
	store, a, b, ada := two(t)
	j, err := a.hold(ada)
	lethetest.Must(t, err)
	a.notes(j, "note 0", "note 1", "note 2")
	newest, _ := store.Newest(t.Context(), Stream(ada.Self), 0)
	told := a.told()
	store.Remove(Stream(ada.Self), newest)
	for n := 0; n < 20 && len(*told) == 0; n++ {
		a.notes(j, fmt.Sprint("later ", n))
		lethetest.Must(t, j.Epoch("count", nil))
		a.last.beside.Wait()
	}
	a.last.acked = time.Now()
	lethetest.Must(t, j.Check(context.Background()))
	if len(*told) != 1 {
		t.Errorf("told %q", *told)
	}
	lethetest.Must(t, b.take(ada))
	b.held(ada, func(*journal.Journal) {})
	b.sound(ada, "note 0", "note 2", "later 0")
	lethetest.Must(t, j.Close())
}

// newHostOf is a host as another process of it begins.
func newHostOf(a *host) *host {
	l := &Lives{
		Streams: &streams.Streams{Store: a.Streams.Store, Keys: a.Streams.Keys}, Host: a.Host, Most: a.Most, Log: a.Lives.Log,
	}
	h := &host{TB: a.TB, Lives: l, store: a.store}
	dir := a.Home
	dir.Shared = h
	l.Home = dir
	return h
}

// A life that was taken from a store without its newest texts is at one host: the one that had it ends at its next look,
// also when it has written since, and does not begin again.
func TestTakenBehindARollback(t *testing.T) {
	t.Parallel()
	for _, writes := range []bool{false, true} {
		store, a, b, ada := two(t)
		j, err := a.hold(ada)
		lethetest.Must(t, err)
		a.notes(j, "one", "two", "three", "four")
		newest, _ := store.Newest(t.Context(), Stream(ada.Self), 0)
		for n := newest; n > newest-3; n-- {
			store.Remove(Stream(ada.Self), n)
		}
		lethetest.Must(t, b.take(ada))
		if writes {
			a.notes(j, "five")
		}
		err = a.last.Compare(context.Background(), false)
		if !writes && !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("a goes on: %v", err)
		}
		if err := j.Commit(note("stale")); !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("a commits: %v", err)
		}
		j.Close()
		if _, err := a.hold(ada); err == nil {
			t.Error("a opens it")
		}
		b.held(ada, func(j *journal.Journal) { b.notes(j, "at b") })
		if _, err := a.hold(ada); !errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("a opens it: %v", err)
		}
		b.sound(ada, "one", "at b")
	}
}

// A life of which rooms have newer answers is not taken: the store lacks its newest texts. Who restores it goes on from
// there, and is told.
func TestRoomsHaveMore(t *testing.T) {
	t.Parallel()
	store, a, b, ada := two(t, "dev")
	a.held(ada, func(j *journal.Journal) {
		lethetest.Must(t, j.Commit(journal.Told(event.Joined{Room: "dev", First: &event.First{}}, "joined", "You hear dev.")))
		a.notes(j, "one", "two")
		at := j.Now().Format("2006-01-02T15:04:05Z")
		lethetest.Write(t, b.Room("dev"), "[AGENT:ada "+at+"] an answer\n")
	})
	newest, _ := store.Newest(t.Context(), Stream(ada.Self), 0)
	lethetest.Must(t, b.take(ada)) // the answer is no newer than the life
	store, a, b, ada = two(t, "dev")
	a.held(ada, func(j *journal.Journal) {
		lethetest.Must(t, j.Commit(journal.Told(event.Joined{Room: "dev", First: &event.First{}}, "joined", "You hear dev.")))
		a.notes(j, "one", "two")
	})
	lethetest.Must(t, os.MkdirAll(chat.Dir(b.Home.Dir), 0o700))
	lethetest.Write(t, b.Room("dev"), "[AGENT:ada 2126-11-20T12:57:16Z] an answer\n")
	err := b.take(ada)
	if err == nil {
		t.Fatal("a rollback is taken for the life")
	}
	lethetest.Words(t, err.Error(), "room dev has lines of ada since", "start it at a")
	if after, _ := store.Newest(t.Context(), Stream(ada.Self), 0); after > newest+2 {
		t.Error("something was written")
	}
	var lost []string
	b.Lost = func(_ home.Identity, what error) { lost = append(lost, what.Error()) }
	lethetest.Must(t, b.take(ada))
	b.held(ada, func(*journal.Journal) {})
	lethetest.Words(t, strings.Join(lost, "|"), "room dev has lines of ada since")
}
