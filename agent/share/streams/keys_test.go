package streams

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

func TestMain(m *testing.M) {
	lethetest.AskFaults()
	os.Exit(m.Run())
}

// ring is the streams of a host, whose keys may change.
func ring(t *testing.T, store *memstore.Store, dir string, told *[]string) *Streams {
	t.Helper()
	keys, err := seal.Load(dir, nil, true)
	lethetest.Must(t, err)
	keys.Tell = func(err error) { *told = append(*told, err.Error()) }
	return &Streams{Store: store, Keys: keys}
}

// turn puts text in place of the keys of a home.
func turn(t *testing.T, dir, text string) {
	t.Helper()
	lethetest.Must(t, durable.WriteFile(seal.File(dir), []byte(text), 0o600))
	later := time.Now().Add(time.Second) // the clock of a file system may be coarse
	lethetest.Must(t, os.Chtimes(seal.File(dir), later, later))
}

// A new key in the first line seals at once, older texts stay readable, and a host that lacks it waits until it has it: it
// takes no text for a damaged one.
func TestKeysTurn(t *testing.T) {
	store, here, there := memstore.New(), lethetest.Dir(t), lethetest.Dir(t)
	var told []string
	a := ring(t, store, here, &told)
	old := lethetest.Read(t, seal.File(here))
	turn(t, there, old)
	b := ring(t, store, there, &told)
	fill(t, a, "rooms", 1, 2)
	if got, _ := texts(t, b, "rooms", At{}); len(got) != 2 {
		t.Errorf("b reads %q", got)
	}
	lethetest.Must(t, seal.New(here))
	now := lethetest.Read(t, seal.File(here))
	if !strings.HasSuffix(now, old) || strings.Count(now, "\n") != 2 {
		t.Fatalf("not the new one before the old one: %d lines", strings.Count(now, "\n"))
	}
	fill(t, a, "rooms", 3, 3)
	fill(t, b, "lives/b", 1, 1)
	if got, _ := texts(t, a, "rooms", At{}); len(got) != 3 {
		t.Errorf("a reads %q", got)
	}
	if got, _ := texts(t, a, "lives/b", At{}); len(got) != 1 {
		t.Errorf("a reads %q of a host with the old key", got)
	}
	for range 2 { // and it stays so
		at, err := b.Each(t.Context(), "rooms", At{}, func(int, []byte, error) error { return nil })
		if at.N != 2 || !errors.Is(err, seal.ErrKey) || Unreadable(err) {
			t.Errorf("b passes over a text: %v, %v", at, err)
		}
	}
	thief, err := seal.Parse(old)
	lethetest.Must(t, err)
	sealed, err := store.Get(t.Context(), "rooms", 3)
	lethetest.Must(t, err)
	if _, err := thief.Open(sealed); !errors.Is(err, seal.ErrOther) {
		t.Errorf("the old key opens a new text: %v", err)
	}
	turn(t, there, now)
	if got, _ := texts(t, b, "rooms", At{}); len(got) != 3 {
		t.Errorf("b reads %q with the new key", got)
	}
	if len(told) > 0 {
		t.Errorf("told: %q", told)
	}
	for k, gone := range []string{old, strings.TrimSuffix(now, old), "AGE-SECRET", ""} { // as when a file is half written
		turn(t, here, gone)
		fill(t, a, "lives/c", k+1, k+1)
		if got, _ := texts(t, a, "rooms", At{}); len(got) != 3 {
			t.Errorf("a reads %q", got)
		}
	}
	if len(told) != 4 || !strings.Contains(told[0], "lacks a key that it had") {
		t.Errorf("told: %q", told)
	}
	if got, _ := texts(t, b, "lives/c", At{}); len(got) != 4 {
		t.Error("a seals for a key that was refused")
	}
}

// An older file that is copied over a newer one takes no key away, nor do two hosts that each make one: what a process sealed for
// can be read after its end.
func TestKeyIsPutBack(t *testing.T) {
	store, here, there := memstore.New(), lethetest.Dir(t), lethetest.Dir(t)
	var told []string
	a := ring(t, store, here, &told)
	old := lethetest.Read(t, seal.File(here))
	turn(t, there, old)
	b := ring(t, store, there, &told)
	lethetest.Must(t, seal.New(here))
	lethetest.Must(t, seal.New(there))
	fill(t, a, "rooms", 1, 1)
	fill(t, b, "lives/b", 1, 1)
	for _, over := range []string{old, lethetest.Read(t, seal.File(there))} {
		turn(t, here, over)
		fill(t, a, "rooms", len(told)+2, len(told)+2)
		for _, s := range []*Streams{a, ring(t, store, here, &told)} { // a, and after its end
			if got, _ := texts(t, s, "rooms", At{}); len(got) != len(told)+1 {
				t.Errorf("read: %q", got)
			}
		}
	}
	again := ring(t, store, here, &told)
	if got, _ := texts(t, again, "lives/b", At{}); len(got) != 1 || len(told) != 2 {
		t.Errorf("what b has sealed: %q; told: %q", got, told)
	}
	for _, damaged := range []string{"", "AGE-SECRET", old[:20]} { // no key makes it whole
		turn(t, here, damaged)
		if err := seal.New(here); err == nil || lethetest.Read(t, seal.File(here)) != damaged {
			t.Errorf("%q: %v", damaged, err)
		}
	}
	if err := seal.New(lethetest.Dir(t)); err == nil || !strings.Contains(err.Error(), "lethe run makes the first one") {
		t.Errorf("no file: %v", err)
	}
}

// Damage anywhere in a sealed text is damage, and no key that is missing.
func TestDamageIsNoOtherKey(t *testing.T) {
	s, store := newStreams(t)
	fill(t, s, "rooms", 1, 1)
	sealed, err := store.Get(t.Context(), "rooms", 1)
	lethetest.Must(t, err)
	_, err = s.Get(t.Context(), "rooms", 1)
	lethetest.Must(t, err)
	name := bytes.Index(sealed, []byte("lethe-"))
	if name < 0 {
		t.Fatalf("it names no key: %q", sealed)
	}
	for at := range sealed {
		broken := bytes.Clone(sealed)
		broken[at] ^= 1
		other := memstore.New()
		lethetest.Must(t, other.Create(t.Context(), "rooms", 1, broken))
		s.Store = other
		if _, err := s.Get(t.Context(), "rooms", 1); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d, %q: %v", at, sealed[max(0, at-5):at+1], err)
		}
	}
}

// Wherever making a key fails or is killed, the file has the old one, and what was sealed before and is sealed then can be
// read with what the file has.
func TestKeyMadeAtEachFault(t *testing.T) {
	ran := 0
	for k := 0; ; k++ {
		for _, stage := range []durable.Stage{durable.Before, durable.After} {
			store, dir := memstore.New(), lethetest.Dir(t)
			var told []string
			s := ring(t, store, dir, &told)
			fill(t, s, "rooms", 1, 1)
			n := 0
			mended := lethetest.Break(t, dir, func(at durable.Stage, _, _ string) error {
				if at == stage {
					n++
				}
				if at == stage && n == k+1 {
					return errCut
				}
				return nil
			})
			err := seal.New(dir)
			mended()
			fill(t, s, "rooms", 2, 2)
			again := ring(t, store, dir, &told)
			if got, _ := texts(t, again, "rooms", At{}); len(got) != 2 {
				t.Errorf("step %d: %q", k, got)
			}
			lethetest.Must(t, seal.New(dir))
			fill(t, s, "rooms", 3, 3)
			if got, _ := texts(t, again, "rooms", At{}); len(got) != 3 {
				t.Errorf("step %d: %q", k, got)
			}
			if ran++; err == nil && n <= k {
				lethetest.Tried(t, ran)
				return
			}
		}
	}
}

// A key for which a power loss may leave no file seals nothing.
func TestKeyIsDurableBeforeItSeals(t *testing.T) {
	store, dir := memstore.New(), lethetest.Dir(t)
	var told []string
	s := ring(t, store, dir, &told)
	old := lethetest.Read(t, seal.File(dir))
	own, err := age.GenerateX25519Identity()
	lethetest.Must(t, err)
	turn(t, dir, own.String()+"\n"+old)
	mended := lethetest.Break(t, dir, func(_ durable.Stage, op, _ string) error {
		if op == "sync" || op == "syncdir" {
			return errCut
		}
		return nil
	})
	fill(t, s, "rooms", 1, 1)
	keys, err := seal.Parse(old)
	lethetest.Must(t, err)
	if got, _ := texts(t, &Streams{Store: store, Keys: keys}, "rooms", At{}); len(got) != 1 || len(told) != 1 {
		t.Errorf("%q, %q", got, told)
	}
	mended()
	fill(t, s, "rooms", 2, 2) // the same file, as when its owner was another one
	sealed, err := store.Get(t.Context(), "rooms", 2)
	lethetest.Must(t, err)
	if _, err := keys.Open(sealed); !errors.Is(err, seal.ErrOther) || len(told) != 1 {
		t.Errorf("it does not count although it is durable now: %v, %q", err, told)
	}
}
