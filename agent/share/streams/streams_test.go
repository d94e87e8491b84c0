package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"lethe/agent/share"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

func init() { freshFor = 20 * time.Millisecond } // a Rewrite waits for it

var errCut = errors.New("cut")

func newStreams(t *testing.T, more ...string) (*Streams, *memstore.Store) {
	t.Helper()
	keys, err := seal.Load(lethetest.Dir(t), more, true)
	lethetest.Must(t, err)
	store := memstore.New()
	return &Streams{Store: store, Keys: keys}, store
}

// fill creates texts "1", "2" and so on.
func fill(t *testing.T, s *Streams, stream string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		lethetest.Must(t, s.Create(t.Context(), stream, n, fmt.Append(nil, n)))
	}
}

// Scan is Each that ends at the first text that cannot be read.
func (s *Streams) Scan(ctx context.Context, stream string, from At, f func(n int, text []byte) error) (At, error) {
	return s.Each(ctx, stream, from, func(n int, text []byte, err error) error {
		if err == nil {
			err = f(n, text)
		}
		return err
	})
}

// texts returns those behind a place.
func texts(t *testing.T, s *Streams, stream string, from At) (out []string, at At) {
	t.Helper()
	at, err := s.Scan(t.Context(), stream, from, func(n int, text []byte) error {
		out = append(out, string(text))
		return nil
	})
	lethetest.Must(t, err)
	return out, at
}

func numbers(from, to int) (out []string) {
	for n := from; n <= to; n++ {
		out = append(out, fmt.Sprint(n))
	}
	return out
}

func never([]byte) bool { return false }

func TestSealedTextStandsForNoOther(t *testing.T) {
	s, store := newStreams(t)
	secret := []byte("the secret of a room")
	lethetest.Must(t, s.Create(t.Context(), "rooms", 1, secret))
	sealed, err := store.Get(t.Context(), "rooms", 1)
	lethetest.Must(t, err)
	if bytes.Contains(sealed, secret) {
		t.Error("the store can read a text")
	}
	lethetest.Must(t, store.Create(t.Context(), "rooms", 2, sealed))
	if _, err := s.Get(t.Context(), "rooms", 2); !errors.Is(err, ErrDamaged) {
		t.Errorf("another number: %v", err)
	}
	bent := bytes.Clone(sealed)
	bent[len(bent)-1] ^= 1
	lethetest.Must(t, store.Create(t.Context(), "rooms", 3, bent))
	if _, err := s.Get(t.Context(), "rooms", 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("a flipped bit: %v", err)
	}
	other, _ := newStreams(t)
	other.Store = store
	if _, err := other.Get(t.Context(), "rooms", 1); !errors.Is(err, seal.ErrKey) {
		t.Errorf("another key: %v", err)
	}
}

func TestRecipientReadsAll(t *testing.T) {
	safe, err := age.GenerateX25519Identity()
	lethetest.Must(t, err)
	s, store := newStreams(t, safe.Recipient().String())
	large := bytes.Repeat([]byte("of a blob "), 1<<17)
	lethetest.Must(t, s.Create(t.Context(), "lives/a", 1, []byte("one")))
	lethetest.Must(t, s.PutLarge(t.Context(), "lives/a", blobs.Sum(large), large))
	keys, err := seal.Parse("# the key in the safe\n" + safe.String() + "\n")
	lethetest.Must(t, err)
	other := &Streams{Store: store, Keys: keys}
	if got, _ := texts(t, other, "lives/a", At{}); !slices.Equal(got, []string{"one"}) {
		t.Errorf("the owner of a key in share.to reads %q", got)
	}
	if got, err := other.Large(t.Context(), "lives/a", blobs.Sum(large)); err != nil || !bytes.Equal(got, large) {
		t.Errorf("the owner of a key in share.to reads %d bytes of a large text, and %v", len(got), err)
	}
}

func TestRecipientsThatDoNotGoTogether(t *testing.T) {
	pq, err := age.GenerateHybridIdentity()
	lethetest.Must(t, err)
	_, err = seal.Load(lethetest.Dir(t), []string{pq.Recipient().String()}, true)
	if err == nil || !strings.Contains(err.Error(), "share.to") {
		t.Errorf("got %v", err)
	}
}

func TestKeyIsMadeOnce(t *testing.T) {
	dir := lethetest.Dir(t)
	made := make(chan *seal.Keys)
	for range 8 {
		go func() { // ends with its key
			k, err := seal.Load(dir, nil, true)
			if err != nil {
				t.Error(err)
			}
			made <- k
		}()
	}
	store := memstore.New()
	for n := range 8 {
		s := &Streams{Store: store, Keys: <-made}
		fill(t, s, "rooms", n+1, n+1)
		if got, _ := texts(t, s, "rooms", At{}); !slices.Equal(got, numbers(1, n+1)) {
			t.Fatalf("a process that made the key at the same time reads %q", got)
		}
	}
	if fi, err := os.Stat(seal.File(dir)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("share.key has %v, %v", fi.Mode(), err)
	}
}

// A large text is whole after it was put again, wherever the first attempt ended.
func TestLargeTextCutShort(t *testing.T) {
	for _, size := range []int{0, 1, MaxText, MaxText + 1, 3 * MaxText} {
		for cut := range size/MaxText + 2 {
			s, store := newStreams(t)
			text := bytes.Repeat([]byte("x"), size)
			h := blobs.Sum(text)
			name, err := s.large(t.Context(), "lives/a", h)
			lethetest.Must(t, err)
			store.Fault = func(op, stream string, n int) (bool, error) {
				if op == "create" && stream == name && n > cut {
					return false, errCut
				}
				return true, nil
			}
			_ = s.PutLarge(t.Context(), "lives/a", h, text)
			store.Fault = nil
			lethetest.Must(t, s.PutLarge(t.Context(), "lives/a", h, text))
			if got, err := s.Large(t.Context(), "lives/a", h); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes, cut after piece %d: got %d bytes, %v", size, cut, len(got), err)
			}
		}
	}
}

func TestLargeTextsBelongToAStream(t *testing.T) {
	s, _ := newStreams(t)
	text := []byte("of two lives")
	for _, stream := range []string{"lives/a", "lives/b"} {
		lethetest.Must(t, s.PutLarge(t.Context(), stream, blobs.Sum(text), text))
	}
	lethetest.Must(t, s.DropLarge(t.Context(), "lives/a", blobs.Sum(text)))
	if got, err := s.Large(t.Context(), "lives/b", blobs.Sum(text)); err != nil || !bytes.Equal(got, text) {
		t.Errorf("what another life has dropped is gone: %q, %v", got, err)
	}
	if _, err := s.Large(t.Context(), "lives/a", blobs.Sum(text)); !errors.Is(err, share.ErrMissing) {
		t.Errorf("what was dropped: %v", err)
	}
}

func TestScanFindsWhatPacksHold(t *testing.T) {
	s, store := newStreams(t)
	const all = 23
	for n := 1; n <= all; n++ {
		fill(t, s, "lives/a", n, n)
		if n%4 == 0 {
			lethetest.Must(t, s.Pack(t.Context(), "lives/a", n-1, never))
		}
	}
	before := store.Calls["get"]
	for after := range all {
		got, at := texts(t, s, "lives/a", At{N: after})
		if !slices.Equal(got, numbers(after+1, all)) || at != (At{N: all}) {
			t.Errorf("behind %d: %q, at %v", after, got, at)
		}
	}
	if calls := store.Calls["get"] - before; calls > 12*all {
		t.Errorf("%d texts were read", calls)
	}
	for n := 1; n <= all; n++ {
		lethetest.Must(t, s.Holds(t.Context(), "lives/a", n))
	}
	if err := s.Holds(t.Context(), "lives/a", all+1); !errors.Is(err, ErrLess) {
		t.Errorf("the store holds what it does not: %v", err)
	}
}

// Whoever scans while another host packs what comes next goes on in the pack.
func TestPackedWhileScanned(t *testing.T) {
	s, _ := newStreams(t)
	fill(t, s, "rooms", 1, 9)
	var got []string
	_, err := s.Scan(t.Context(), "rooms", At{}, func(n int, text []byte) error {
		got = append(got, string(text))
		if n == 3 {
			return s.Pack(t.Context(), "rooms", 8, never)
		}
		return nil
	})
	if err != nil || !slices.Equal(got, numbers(1, 9)) {
		t.Errorf("got %q, %v", got, err)
	}
}

// A Rewrite may be cut short at any call: done again, all is as it was to become, and nothing is left of what it was.
func TestRewriteCutShort(t *testing.T) {
	shout := func(_ int, text []byte) ([][]byte, error) { return [][]byte{append([]byte("!"), text...)}, nil }
	once := func(_ int, text []byte) ([][]byte, error) {
		return [][]byte{append([]byte("!"), bytes.TrimPrefix(text, []byte("!"))...)}, nil
	}
	want := append(strings.Split("!1 !2 !3 !4 !5 !6 !7 !8 !9", " "), "10")
	for cut := 1; ; cut++ {
		s, store := newStreams(t)
		fill(t, s, "lives/a", 1, 10)
		lethetest.Must(t, s.Pack(t.Context(), "lives/a", 5, never))
		_, was := texts(t, s, "lives/a", At{})
		calls := 0
		store.Fault = func(string, string, int) (bool, error) {
			if calls++; calls >= cut {
				return calls == cut, errCut
			}
			return true, nil
		}
		_, err := s.Rewrite(t.Context(), "lives/a", never, shout)
		store.Fault = nil
		whole := err == nil
		if !whole {
			_, err = s.Rewrite(t.Context(), "lives/a", never, once)
			lethetest.Must(t, err)
		}
		got, at := texts(t, s, "lives/a", At{})
		if !slices.Equal(got, want) {
			t.Fatalf("cut at call %d: %q", cut, got)
		}
		streams, err := store.List(t.Context(), "lives/a")
		lethetest.Must(t, err)
		if len(streams) != 3 { // the stream, its generations, the packs of one of them
			t.Errorf("cut at call %d: the store has %q", cut, streams)
		}
		lethetest.Must(t, s.Create(t.Context(), "lives/a", 11, []byte("11")))
		if _, err := s.Scan(t.Context(), "lives/a", was, nil); !errors.Is(err, ErrAnew) {
			t.Errorf("whoever read what was erased is not told: %v", err)
		}
		if got, _ := texts(t, s, "lives/a", at); !slices.Equal(got, []string{"11"}) {
			t.Errorf("whoever read all anew reads %q", got)
		}
		if whole {
			return
		}
	}
}

// A stream may be rewritten at any call of another host that packs it: no pack of what it was stays. If that host is
// killed, it stays until the next Pack.
func TestRewrittenWhilePacked(t *testing.T) {
	erase := func(int, []byte) ([][]byte, error) { return [][]byte{[]byte("!")}, nil }
	for at, rewritten := 1, true; rewritten; at++ {
		for killed, whole := at, false; !whole; killed++ {
			s, store := newStreams(t)
			fill(t, s, "rooms", 1, 10)
			calls := 0
			var fault func(string, string, int) (bool, error)
			fault = func(string, string, int) (bool, error) {
				if calls++; calls == at {
					store.Fault = nil
					_, err := s.Rewrite(t.Context(), "rooms", never, erase)
					lethetest.Must(t, err)
					store.Fault = fault
				}
				return true, map[bool]error{true: errCut}[calls > killed]
			}
			store.Fault = fault
			whole = s.Pack(t.Context(), "rooms", 6, never) == nil
			store.Fault = nil
			rewritten = calls >= at
			if !rewritten {
				break
			}
			if !whole {
				lethetest.Must(t, s.Pack(t.Context(), "rooms", 6, never))
			}
			left, err := store.List(t.Context(), "rooms/packs/")
			lethetest.Must(t, err)
			got, _ := texts(t, s, "rooms", At{})
			if !slices.Equal(left, []string{"rooms/packs/1"}) || strings.Join(got, "") != "!!!!!!!!!10" {
				t.Fatalf("rewritten at call %d, killed behind call %d: the store has %q, and reads %q", at, killed, left, got)
			}
		}
	}
}

func TestForget(t *testing.T) {
	s, store := newStreams(t)
	second := func(text []byte) bool { return string(text) == "2" }
	for _, stream := range []string{"lives/a", "lives/ab"} {
		fill(t, s, stream, 1, 6)
		lethetest.Must(t, s.Pack(t.Context(), stream, 4, second))
		lethetest.Must(t, s.PutLarge(t.Context(), stream, blobs.Sum(nil), nil))
	}
	lethetest.Must(t, s.Forget(t.Context(), "lives/a", second))
	left, err := store.List(t.Context(), "lives/a/")
	lethetest.Must(t, err)
	for n := 1; n <= 6; n++ {
		_, err := s.Get(t.Context(), "lives/a", n)
		if kept := err == nil; kept != (n == 2 || n == 6) {
			t.Errorf("text %d: %v", n, err)
		}
	}
	if len(left) > 0 {
		t.Errorf("the store has %q", left)
	}
	if got, _ := texts(t, s, "lives/ab", At{}); !slices.Equal(got, numbers(1, 6)) {
		t.Errorf("another stream has %q", got)
	}
}

// A book that was read has no news in a store that was emptied: it says so.
func TestBookOfAnotherStore(t *testing.T) {
	s, store := newStreams(t)
	b := Book{Streams: s, Stream: "ledger", File: filepath.Join(lethetest.Dir(t), "ledger")}
	lethetest.Must(t, b.Push(t.Context(), []byte("spent"), true))
	nothing := func([]byte, bool) error { return nil }
	lethetest.Must(t, b.Pull(t.Context(), nothing))
	lethetest.Must(t, store.Drop(t.Context(), "ledger"))
	if err := b.Pull(t.Context(), nothing); !errors.Is(err, ErrLess) || !strings.Contains(err.Error(), b.File) {
		t.Errorf("got %v", err)
	}
	b.File = lethetest.Dir(t) // what cannot be read is not looked at
	if err := b.Pull(t.Context(), nothing); !errors.Is(err, durable.ErrNotRegular) || strings.Contains(err.Error(), "JSON") {
		t.Errorf("got %v", err)
	}
}

// A text, a pack or the number of the generation of packs that is lost takes no other text away, and what is mended is
// read on by hosts that had read it before.
func TestLostTexts(t *testing.T) {
	packed := func(t *testing.T) (*Streams, *memstore.Store, At) {
		s, store := newStreams(t)
		fill(t, s, "lives/a", 1, 12)
		for _, upto := range []int{3, 6, 9} {
			lethetest.Must(t, s.Pack(t.Context(), "lives/a", upto, never))
		}
		_, at := texts(t, s, "lives/a", At{})
		return s, store, at
	}
	each := func(s *Streams) (got string) {
		_, err := s.Each(t.Context(), "lives/a", At{}, func(n int, text []byte, err error) error {
			if err != nil && !Unreadable(err) {
				return err
			}
			if err != nil {
				text = []byte("-")
			}
			got += string(text) + " "
			return nil
		})
		lethetest.Must(t, err)
		return got
	}
	for stream, numbers := range map[string]map[int]string{
		"lives/a": {10: "1 2 3 4 5 6 7 8 9 - 11 12 ", 12: "1 2 3 4 5 6 7 8 9 10 11 "},
		"lives/a/packs/0": {1: "- - - 4 5 6 7 8 9 10 11 12 ", 2: "1 2 3 - - - 7 8 9 10 11 12 ",
			3: "1 2 3 4 5 6 - - - 10 11 12 "},
	} {
		for n, want := range numbers {
			for _, damaged := range []bool{false, true} {
				s, store, at := packed(t)
				if damaged {
					text := store.Bytes(stream, n)
					text[len(text)/2] ^= 1
					store.Set(stream, n, text)
				} else {
					store.Remove(stream, n)
				}
				if damaged && n == 12 {
					want += "- "
				}
				if got := each(s); got != want {
					t.Errorf("%s %d is lost (damaged: %v): %q, want %q", stream, n, damaged, got, want)
				}
				if _, err := s.Scan(t.Context(), "lives/a", At{}, func(int, []byte) error { return nil }); n < 12 && err == nil {
					t.Errorf("%s %d is lost, and nobody told", stream, n)
				}
				fill(t, s, "lives/a", 13, 14)
				mend := func(lost int, text []byte) (all [][]byte, err error) {
					for range lost {
						all = append(all, []byte("mended"))
					}
					return append(all, text), nil
				}
				_, err := s.Rewrite(t.Context(), "lives/a", never, mend)
				lethetest.Must(t, err)
				if got := each(s); strings.Contains(got, "-") || len(strings.Fields(got)) != 14 {
					t.Errorf("mended: %q", got)
				}
				if _, err := s.Scan(t.Context(), "lives/a", at, func(int, []byte) error { return nil }); !errors.Is(err, ErrAnew) {
					t.Errorf("who had read it goes on: %v", err)
				}
			}
		}
	}
	s, store, at := packed(t)
	fill(t, s, "lives/a", 13, 13)
	_, err := s.Rewrite(t.Context(), "lives/a", never, func(_ int, text []byte) ([][]byte, error) { return [][]byte{text}, nil })
	lethetest.Must(t, err)
	store.Remove("lives/a/packs", 1)
	if got := each(s); got != "1 2 3 4 5 6 7 8 9 10 11 12 13 " {
		t.Errorf("without the generation: %q", got)
	}
	at.N, at.Gen = 12, 1
	if got, _ := texts(t, s, "lives/a", at); !slices.Equal(got, []string{"13"}) {
		t.Errorf("who knows the generation reads on %q", got)
	}
}

// A listing shows each text that the store has lost, of a stream and of its packs, and the newest ones too.
func TestWhole(t *testing.T) {
	t.Parallel()
	for stream, numbers := range map[string][]int{"lives/a": {10, 11, 12}, "lives/a/packs/0": {1, 2, 3}} {
		for _, n := range numbers {
			s, store := newStreams(t)
			fill(t, s, "lives/a", 1, 12)
			for _, upto := range []int{3, 6, 9} {
				lethetest.Must(t, s.Pack(t.Context(), "lives/a", upto, never))
			}
			lethetest.Must(t, s.Whole(t.Context(), "lives/a", At{N: 12}))
			store.Remove(stream, n)
			if err := s.Whole(t.Context(), "lives/a", At{N: 12}); !Unreadable(err) {
				t.Errorf("without %s %d: %v", stream, n, err)
			}
		}
	}
}

// Large texts that the store has lost, in whole or in part, are stored again from files that have them yet.
func TestPutMissing(t *testing.T) {
	t.Parallel()
	s, store := newStreams(t)
	files, dir := map[blobs.Hash]string{}, lethetest.Dir(t)
	add := func(name, text string) (stream string) {
		hash := blobs.Sum([]byte(text))
		files[hash] = filepath.Join(dir, name)
		lethetest.Write(t, files[hash], text)
		lethetest.Must(t, s.PutLarge(t.Context(), "lives/a", hash, []byte(text)))
		stream, err := s.large(t.Context(), "lives/a", hash)
		lethetest.Must(t, err)
		return stream
	}
	add("whole", "whole")
	gone, cut, changed := add("gone", "gone"), add("cut", strings.Repeat("long ", MaxText/2)), add("changed", "changed")
	flipped := add("flipped", "flipped")
	lethetest.Write(t, filepath.Join(dir, "changed"), "otherwise")
	store.Remove(gone, 1)
	store.Remove(cut, 2)
	store.Remove(changed, 1)
	text := store.Bytes(flipped, 1)
	text[len(text)-1] ^= 1
	store.Set(flipped, 1, text)
	for _, step := range []struct {
		mayBeDamaged bool
		want         int
	}{{false, 2}, {true, 1}, {true, 0}} {
		got, err := s.PutMissing(t.Context(), "lives/a", files, step.mayBeDamaged)
		if err != nil || got != step.want {
			t.Errorf("%+v: stored %d, %v", step, got, err)
		}
	}
	for hash, file := range files {
		got, err := s.Large(t.Context(), "lives/a", hash)
		isThere := err == nil && blobs.Sum(got) == hash
		if isThere == (filepath.Base(file) == "changed") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A host that sleeps behind its look until others went on, and an erasure freed its number, does not think that its text
// counts.
func TestAsleepBeforeItsText(t *testing.T) {
	for _, ago := range []time.Duration{0, time.Hour} {
		s, store := newStreams(t)
		fill(t, s, "rooms", 1, 3)
		store.Fault = func(op, stream string, n int) (bool, error) {
			if op == "create" {
				store.Fault = nil
				fill(t, s, "rooms", 4, 6)
				_, err := s.Rewrite(t.Context(), "rooms", never, func(_ int, text []byte) ([][]byte, error) { return [][]byte{text}, nil })
				lethetest.Must(t, err)
			}
			return true, nil
		}
		err := s.CreateLately(t.Context(), "rooms", At{N: 3}, time.Now().Add(-ago), []byte("late"))
		if !share.IsTaken(err) {
			t.Errorf("seen %v ago: %v", ago, err)
		}
		if got, _ := texts(t, s, "rooms", At{}); !slices.Equal(got, numbers(1, 6)) {
			t.Errorf("others read %q", got)
		}
	}
}

// A Rewrite whose caller ends waits no longer, and is whole when it is called again.
func TestRewriteEnds(t *testing.T) {
	was := freshFor
	freshFor = time.Hour
	defer func() { freshFor = was }()
	s, store := newStreams(t)
	fill(t, s, "rooms", 1, 9)
	ctx, cancel := context.WithCancel(t.Context())
	store.Fault = func(op, stream string, n int) (bool, error) {
		if op == "create" && stream == generations("rooms") {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
		return true, nil
	}
	same := func(_ int, text []byte) ([][]byte, error) { return [][]byte{text}, nil }
	if _, err := s.Rewrite(ctx, "rooms", never, same); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), "rooms", 4); err != nil {
		t.Errorf("a number is free before its time: %v", err)
	}
	freshFor = was
	_, err := s.Rewrite(t.Context(), "rooms", never, same)
	lethetest.Must(t, err)
	if got, _ := texts(t, s, "rooms", At{}); !slices.Equal(got, numbers(1, 9)) || store.Bytes("rooms", 4) != nil {
		t.Errorf("called again, it leaves %q", got)
	}
}
