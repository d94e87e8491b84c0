package rooms

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// masked is a text as an erasure of a word leaves it.
func masked(text, word string) string {
	return strings.ReplaceAll(text, word, "[erased"+strings.Repeat(".", len(word)-8)+"]")
}

// erase erases a word from a room of a host, as package redact does.
func (r *Rooms) erase(t testing.TB, room, word string) {
	t.Helper()
	lethetest.Must(t, r.Settle(t.Context()))
	for _, path := range []string{chat.Path(r.Dir, room), Path(r.Dir, room)} {
		text := lethetest.Read(t, path)
		at := strings.Index(text, word)
		lethetest.Must(t, chat.Erase(path, durable.Piece{At: int64(at), Data: []byte(masked(word, word))}))
	}
}

const word = "a very secret word"

// What is erased at one host goes from the others by itself, at their next look, and from the store; what they have not
// published yet stays, and who hears there hears nothing again. A room that a person has changed stays as it was said.
func TestErased(t *testing.T) {
	store := memstore.New()
	a, b, c := newHost(t, store, "a"), newHost(t, store, "b"), newHost(t, store, "c")
	const text = "one\n" + word + " and more\nlast\n"
	a.echo(t, "dev", text)
	a.echo(t, "other", "this was said\n")
	for _, r := range []*Rooms{a, b, c} {
		r.sync(t)
	}
	heard, err := chat.Read(Path(b.Dir, "dev"), chat.Cursor{}, 0)
	lethetest.Must(t, err)
	b.echo(t, "dev", "not whole")
	c.echo(t, "dev", "from c\n")
	open := a.opened(t, "dev")
	write(t, open, "not") // so the file is replaced, and stays while it is open
	c.sync(t)
	a.sync(t)
	for _, path := range []string{chat.Path(a.Dir, "other"), Path(a.Dir, "other")} {
		lethetest.Must(t, os.WriteFile(path, []byte("this was SAID\n"), 0o600))
	}
	a.erase(t, "dev", word)
	lethetest.Must(t, a.Erased(t.Context()))
	for _, path := range a.late(t) {
		if strings.Contains(lethetest.Read(t, path), word) {
			t.Errorf("%s has it", path)
		}
	}
	b.sync(t)
	c.again().sync(t)
	c.holds(t, "dev", masked(text, word)+"from c\n")
	c.holds(t, "other", "this was said\n")
	lethetest.Holds(t, chat.Path(b.Dir, "dev"), masked(text, word)+"from c\nnot whole")
	if len(a.late(t)) != 1 {
		t.Errorf("there are %q", a.late(t))
	}
	if batch, err := chat.Read(Path(b.Dir, "dev"), heard.Next, 0); err != nil || len(batch.Lines) != 1 || batch.Realigned {
		t.Errorf("heard again: %+v, %v", batch, err)
	}
	all, err := store.List(t.Context(), "")
	lethetest.Must(t, err)
	for _, stream := range all {
		for n := range 9 {
			if bytes.Contains(store.Bytes(stream, n), []byte(word)) {
				t.Errorf("text %d of %s has it", n, stream)
			}
		}
	}
}

// Two hosts that erase at once, and one that has lost what it knew, undo nothing of each other.
func TestErasedByTwo(t *testing.T) {
	_, a, b := two(t)
	const other = "another secret"
	a.echo(t, "dev", word+"\n"+other+"\n")
	a.sync(t)
	b.sync(t)
	a.erase(t, "dev", word)
	b.erase(t, "dev", other)
	lethetest.Must(t, b.Erased(t.Context()))
	lethetest.Must(t, os.Remove(a.Dir+"/share/rooms.json"))
	lethetest.Must(t, a.again().Erased(t.Context()))
	b.sync(t)
	for _, r := range []*Rooms{a, b} {
		r.holds(t, "dev", masked(word, word)+"\n"+masked(other, other)+"\n")
	}
}

// Hosts that write while another one erases do not stop it.
func TestErasedBesideOthers(t *testing.T) {
	store, a, b := two(t)
	a.echo(t, "dev", word+"\n")
	a.sync(t)
	b.sync(t)
	a.erase(t, "dev", word)
	faster, within := 0, false
	store.Fault = func(op, stream string, n int) (bool, error) {
		if op == "create" && stream == Stream && !within && faster < 6 {
			faster, within = faster+1, true
			b.echo(t, "dev", fmt.Sprintf("%d\n", faster))
			b.sync(t)
			within = false
		}
		return true, nil
	}
	lethetest.Must(t, a.Erased(t.Context()))
	store.Fault = nil
	b.sync(t)
	a.sync(t)
	text := lethetest.Read(t, Path(a.Dir, "dev"))
	b.holds(t, "dev", text)
	if faster != 6 || strings.Count(text, "\n") != 7 || !strings.HasPrefix(text, "[erased") {
		t.Errorf("b was faster %d times, and there is\n%s", faster, text)
	}
}

// An erasure from lines that are stored by themselves may be cut short at any call: the room can be read all the time, and
// done again it leaves nothing.
func TestErasedCutShort(t *testing.T) {
	long := strings.Repeat("x", maxAdded) + word + "\n"
	for cut := 0; ; cut += lethetest.Sample(15, 7, 1) {
		store := memstore.New()
		a := newHost(t, store, "a")
		a.echo(t, "dev", long)
		a.sync(t)
		a.erase(t, "dev", word)
		calls := 0
		store.Fault = func(string, string, int) (bool, error) {
			calls++
			return cut%2 == 0, map[bool]error{true: share.ErrAway}[calls > cut/2]
		}
		err := a.Erased(t.Context())
		store.Fault = nil
		c := newHost(t, store, "c")
		c.sync(t)
		a = a.again()
		lethetest.Must(t, a.Erased(t.Context()))
		c.sync(t)
		c.holds(t, "dev", masked(long, word))
		left, lerr := store.List(t.Context(), Stream+"/texts/")
		if lerr != nil || len(left) != 1 || t.Failed() {
			t.Fatalf("cut at %d: %d large texts, %v", cut, len(left), lerr)
		}
		if err == nil {
			break
		}
	}
}

// A room is read though a file that it names is not in the store: an erasure was cut short when it was to be replaced.
func TestFileMissing(t *testing.T) {
	_, a, c := two(t)
	h, err := a.Store.Put(blobs.Meta{At: time.Now(), Gist: "a picture", Life: "ada"}, []byte("a picture"))
	lethetest.Must(t, err)
	line := fmt.Sprintf("see hash=%s\n", h)
	a.echo(t, "dev", line)
	a.sync(t)
	lethetest.Must(t, a.Streams.DropLarge(t.Context(), Stream, h))
	c.sync(t)
	c.holds(t, "dev", line)
}

// Old entries are packed when there are many, once an hour, and who reads later reads them from there.
func TestPacked(t *testing.T) {
	store := memstore.New()
	a := newHost(t, store, "a")
	const old, young = mostLoose + 100, 7
	want := ""
	for n := 1; n <= old+young; n++ {
		at := time.Now().Add(-unpacked - time.Hour)
		if n > old {
			at = time.Now()
		}
		line := fmt.Sprintf("%d\n", n)
		want += line
		e := entry{version, a.Host, streams.Nonce(), at, 0, []item{{Room: "dev", lines: []byte(line)}}, false}
		lethetest.Must(t, a.Streams.Create(context.Background(), Stream, n, e.encode()))
	}
	a.sync(t)
	if store.Bytes(Stream, old) == nil {
		t.Error("a process that has just begun packs")
	}
	a.packed = time.Now().Add(-2 * time.Hour)
	a.sync(t)
	if store.Bytes(Stream, old) != nil || store.Bytes(Stream, old+1) == nil {
		t.Error("not what is old is packed")
	}
	c := newHost(t, store, "c")
	c.sync(t)
	c.holds(t, "dev", want)
}
