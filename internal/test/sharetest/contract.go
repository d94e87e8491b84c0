package sharetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
)

// Open opens a store, and closes it with the test.
func Open(t testing.TB, url string, patience time.Duration) share.Store {
	t.Helper()
	store, err := share.Open(url, patience)
	lethetest.Must(t, err)
	t.Cleanup(func() { lethetest.Must(t, store.Close()) })
	return store
}

func text(of string) []byte { return []byte(of + " " + rand.Text()) }

func create(t testing.TB, s share.Store, stream string, n int, data []byte) {
	t.Helper()
	lethetest.Must(t, s.Create(t.Context(), stream, n, data))
}

// Newest fails the test unless the newest number of a stream is n.
func Newest(t testing.TB, s share.Store, stream string, n int) {
	t.Helper()
	got, err := s.Newest(t.Context(), stream, 0)
	if err != nil || got != n {
		t.Errorf("the newest of %s is %d, %v; want %d", stream, got, err, n)
	}
}

func want(t testing.TB, what string, got, wanted error) {
	t.Helper()
	if !errors.Is(got, wanted) {
		t.Errorf("%s: %v, want %v", what, got, wanted)
	}
}

// Contract shows what each store does, for two hosts that open the same URL.
func Contract(t *testing.T, url string) {
	first, second := Open(t, url, time.Minute), Open(t, url, time.Minute)
	for _, s := range []share.Store{first, second} {
		Newest(t, s, "contract", 0) // now the store is there
	}
	for name, part := range map[string]func(t *testing.T, a, b share.Store){
		"once": once, "bounds": bounds, "deleted": deleted, "list": list, "watch": watch, "numbers": numbers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(t, first, second)
		})
	}
}

func once(t *testing.T, first, second share.Store) {
	ctx := t.Context()
	Newest(t, first, "once", 0)
	_, err := first.Get(ctx, "once", 1)
	want(t, "get from a stream that is not there", err, share.ErrMissing)
	for n := 1; n <= 5; n++ {
		mine := text("a")
		create(t, first, "once", n, mine)
		create(t, first, "once", n, mine)
		create(t, second, "once", n, mine) // equal bytes are ours
		want(t, "other bytes", second.Create(ctx, "once", n, text("b")), share.ErrTaken)
		Newest(t, second, "once", n)
		for _, s := range []share.Store{first, second} {
			got, err := s.Get(ctx, "once", n)
			if err != nil || !bytes.Equal(got, mine) {
				t.Errorf("text %d is %q, %v; want %q", n, got, err, mine)
			}
		}
	}
	for _, n := range []int{1, 3, 2, 5, 4} { // in no order
		if got, err := second.Get(ctx, "once", n); err != nil || !bytes.HasPrefix(got, []byte("a ")) {
			t.Errorf("text %d is %q, %v", n, got, err)
		}
	}
	_, err = first.Get(ctx, "once", 6)
	want(t, "get what is not there", err, share.ErrMissing)
	want(t, "a host that knows nothing", second.Create(ctx, "once", 2, text("b")), share.ErrTaken)
	create(t, second, "once", 6, text("b"))
	want(t, "a host that was asleep", first.Create(ctx, "once", 6, text("a")), share.ErrTaken)
	create(t, first, "once", 7, text("a"))
	if n, err := second.Newest(ctx, "once", 9); err != nil || n != 9 {
		t.Errorf("the newest, when 9 is known: %d, %v", n, err)
	}
}

func bounds(t *testing.T, store, _ share.Store) {
	ctx := t.Context()
	most := bytes.Repeat([]byte{0, '\n', 255}, share.MostBytes/3)
	create(t, store, "bounds", 1, most)
	got, err := store.Get(ctx, "bounds", 1)
	if err != nil || !bytes.Equal(got, most) {
		t.Errorf("a text of %d bytes comes back with %d: %v", len(most), len(got), err)
	}
	for _, size := range []int{0, share.MostBytes + 1} {
		if store.Create(ctx, "bounds", 2, make([]byte, size)) == nil {
			t.Errorf("a text of %d bytes is taken", size)
		}
	}
	long := strings.Repeat("l", share.MostName)
	for _, stream := range []string{"a", "0-_9", "a/b/c.d", "a/b=c", long, "", "/a", "a/", "a//b", ".", "a/../b", "a/.b",
		"A", "a b", "a*", "a/>", "a\n", long + "l", "ä"} {
		err := store.Create(ctx, stream, 1, text("x"))
		if good := slices.Contains([]string{"a", "0-_9", "a/b/c.d", long}, stream); good != (err == nil) {
			t.Errorf("stream %q: %v", stream, err)
		}
		if _, nerr := store.Newest(ctx, stream, 0); (nerr == nil) != (err == nil) {
			t.Errorf("newest of %q: %v", stream, nerr)
		}
	}
	for _, n := range []int{0, -1, share.MostNumber + 1} {
		if _, err := store.Get(ctx, "bounds", n); err == nil || errors.Is(err, share.ErrMissing) {
			t.Errorf("number %d: %v", n, err)
		}
	}
	Newest(t, store, "a/b", 0) // the streams a and a/b/c.d are others
	create(t, store, "a/b", 1, text("x"))
	Newest(t, store, "a", 1)
}

// deleted shows rules 6 and 11: what a pack holds and is deleted does not come back as the newest, a text that is kept
// stops a host that knows nothing, and JetStream stops it anyway.
func deleted(t *testing.T, a, second share.Store) {
	ctx := t.Context()
	newest, first := 40, 7 // the latter is the first text of its holder
	if lethetest.Long() {
		newest = 1030 // numbers of two directories
	}
	lethetest.Must(t, a.Delete(ctx, "deleted", 5, nil))
	mine := make([][]byte, newest+1)
	for n := 1; n <= newest; n++ {
		mine[n] = text("a")[:1+n%20]
		create(t, a, "deleted", n, mine[n])
	}
	keep := func(n int) bool { return n == 1 || n == first }
	lethetest.Must(t, a.Delete(ctx, "deleted", newest-10, keep))
	lethetest.Must(t, a.Delete(ctx, "deleted", newest-10, keep)) // again
	Newest(t, second, "deleted", newest)
	for n := newest - 9; n <= newest; n++ {
		if got, err := second.Get(ctx, "deleted", n); err != nil || !bytes.Equal(got, mine[n]) {
			t.Errorf("text %d is %q, %v", n, got, err)
		}
	}
	for _, n := range []int{2, newest / 2, newest - 10} {
		_, err := second.Get(ctx, "deleted", n)
		want(t, "get what was deleted", err, share.ErrMissing)
	}
	want(t, "a host that does not know of the next holder", second.Create(ctx, "deleted", first, text("stale")), share.ErrTaken)
	for _, n := range []int{first + 1, newest / 2, newest - 10} {
		err := second.Create(ctx, "deleted", n, text("stale"))
		t.Logf("create of number %d, which was deleted: %v", n, err)
		if err != nil {
			want(t, "create what was deleted", err, share.ErrTaken)
		}
		Newest(t, a, "deleted", newest)
	}
	lethetest.Must(t, second.Delete(ctx, "deleted", newest+5, func(int) bool { return false })) // never the newest
	Newest(t, a, "deleted", newest)
	_, err := second.Get(ctx, "deleted", newest-1)
	want(t, "get the one before", err, share.ErrMissing)
	if got, err := second.Get(ctx, "deleted", newest); err != nil || !bytes.Equal(got, mine[newest]) {
		t.Errorf("the newest text is %q, %v", got, err)
	}
	create(t, a, "deleted", newest+1, text("a"))
	want(t, "create the last one again", second.Create(ctx, "deleted", newest+1, text("b")), share.ErrTaken)
}

// numbers shows that a listing has each number that is there, and no other one.
func numbers(t *testing.T, a, second share.Store) {
	has := func(from, to int) {
		t.Helper()
		got, err := second.Numbers(t.Context(), "numbers")
		slices.Sort(got)
		var wanted []int
		for n := from; n <= to; n++ {
			wanted = append(wanted, n)
		}
		if err != nil || !slices.Equal(got, wanted) {
			t.Errorf("numbers: %v, %v; want %d to %d", got, err, from, to)
		}
	}
	has(1, 0)
	for n := range 9 {
		create(t, a, "numbers", n+1, text("a"))
		create(t, a, "numbers/below", n+1, text("a"))
	}
	has(1, 9)
	lethetest.Must(t, a.Delete(t.Context(), "numbers", 4, func(int) bool { return false }))
	has(5, 9)
}

func list(t *testing.T, a, second share.Store) {
	for _, stream := range []string{"list/b.c/d", "list/a", "listing", "list/b"} {
		create(t, a, stream, 1, text(stream))
		create(t, second, stream, 2, text(stream))
	}
	create(t, a, "list/gone", 1, text("gone"))
	lethetest.Must(t, a.Drop(t.Context(), "list/gone"))
	for prefix, wanted := range map[string][]string{
		"list/g":   nil, // gone
		"list/":    {"list/a", "list/b", "list/b.c/d"},
		"list":     {"list/a", "list/b", "list/b.c/d", "listing"},
		"list/b":   {"list/b", "list/b.c/d"},
		"lost/and": nil,
	} {
		got, err := second.List(t.Context(), prefix)
		if err != nil || !slices.Equal(got, wanted) {
			t.Errorf("streams %q: %q, %v", prefix, got, err)
		}
	}
}

func watch(t *testing.T, first, second share.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	create(t, second, "watch/other", 1, text("b"))
	look := first.Watch(ctx, "watch/one")
	heard := func(what string) {
		t.Helper()
		select {
		case <-look:
		case <-time.After(time.Minute):
			t.Fatalf("no signal: %s", what)
		}
	}
	heard("at once")
	for n := range 2 {
		create(t, second, "watch/one", n+1, text("b"))
		for seen := 0; seen <= n; { // a signal may be an old one
			heard(fmt.Sprint("text ", n+1))
			var err error
			seen, err = first.Newest(ctx, "watch/one", 0)
			lethetest.Must(t, err)
		}
	}
}

// Away shows what happens to callers while a store is away, and that it is all right when it is back. With leave the
// store goes away, with back it comes again.
func Away(t *testing.T, url string, leave, back func()) {
	t.Helper()
	const patience = 300 * time.Millisecond
	store, patient := Open(t, url, patience), Open(t, url, time.Minute)
	create(t, patient, "away", 1, text("before"))
	leave()
	mine := text("meanwhile")
	want(t, "create", store.Create(t.Context(), "away", 2, mine), share.ErrAway)
	_, err := store.Get(t.Context(), "away", 1)
	want(t, "get", err, share.ErrAway)
	_, err = store.Newest(t.Context(), "away", 1)
	want(t, "newest", err, share.ErrAway)
	want(t, "delete", store.Delete(t.Context(), "away", 1, nil), share.ErrAway)
	_, err = store.List(t.Context(), "")
	want(t, "list", err, share.ErrAway)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	want(t, "create when the caller is gone", store.Create(ended, "away", 2, mine), share.ErrAway)
	late := Open(t, url, patience) // a host that starts meanwhile
	_, err = late.Newest(t.Context(), "away", 0)
	want(t, "newest of a host that starts", err, share.ErrAway)
	t.Logf("callers are told: %v", err)
	back()
	lethetest.Eventually(t, "the store is back", func() bool { return store.Create(t.Context(), "away", 2, mine) == nil })
	lethetest.Eventually(t, "the store is back", func() bool {
		n, err := late.Newest(t.Context(), "away", 0)
		return err == nil && n == 2
	})
	create(t, patient, "away", 3, text("after"))
	Newest(t, patient, "away", 3)
}
