package rooms

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// A file of a room that somebody has removed from chats comes back, by the process that knew it and by another one.
func TestRemoved(t *testing.T) {
	a := newHost(t, memstore.New(), "a")
	a.echo(t, "dev", "one\n")
	a.sync(t)
	for _, r := range []*Rooms{a, a.again()} {
		r.sync(t)
		lethetest.Must(t, os.Remove(chat.Path(a.Dir, "dev")))
		r.sync(t)
		r.holds(t, "dev", "one\n")
	}
}

// A host whose directory in share is lost, damaged or older than its rooms goes on: nothing is said twice, or not at all.
func TestLost(t *testing.T) {
	damage := map[string]func(t *testing.T, share, old string){
		"no step": func(t *testing.T, share, _ string) { lethetest.Must(t, os.Remove(share+"/rooms.json")) },
		"older step": func(t *testing.T, share, old string) {
			lethetest.Write(t, share+"/rooms.json", lethetest.Read(t, old+"/rooms.json"))
		},
		"half a step": func(t *testing.T, share, _ string) { lethetest.Must(t, os.Truncate(share+"/rooms.json", 9)) },
		"no files":    func(t *testing.T, share, _ string) { lethetest.Must(t, os.RemoveAll(share+"/rooms")) },
		"one file":    func(t *testing.T, share, _ string) { lethetest.Must(t, os.Remove(share+"/rooms/dev.md")) },
		"short file":  func(t *testing.T, share, _ string) { lethetest.Must(t, os.Truncate(share+"/rooms/dev.md", 20)) },
		"stray file":  func(t *testing.T, share, _ string) { lethetest.Write(t, share+"/rooms/x.md", "x\n") },
		"longer file": func(t *testing.T, share, _ string) {
			lethetest.Write(t, share+"/rooms/dev.md", lethetest.Read(t, share+"/rooms/dev.md")+"x\n")
		},
		"nothing": func(t *testing.T, share, _ string) { lethetest.Must(t, os.RemoveAll(share)) },
		"an older one": func(t *testing.T, share, old string) {
			lethetest.Must(t, os.RemoveAll(share))
			lethetest.Must(t, os.CopyFS(share, os.DirFS(old)))
		},
	}
	for name, harm := range damage {
		for _, restarted := range []bool{true, false} {
			t.Run(name, func(t *testing.T) { lost(t, harm, restarted, name == "an older one") })
		}
	}
}

func lost(t *testing.T, harm func(t *testing.T, share, old string), restarted, other bool) {
	_, a, b := two(t)
	many := func(r *Rooms, what string) (text string) {
		for n := range 30 { // more than a reader remembers
			text += strings.Repeat(what, n+1) + " of " + r.Host.ID + "\n"
		}
		r.echo(t, "dev", text)
		r.sync(t)
		return text
	}
	want := many(a, "x")
	b.sync(t)
	old := filepath.Join(lethetest.Dir(t), "old")
	lethetest.Must(t, os.CopyFS(old, os.DirFS(filepath.Join(b.Dir, "share"))))
	want += many(b, "y")
	a.sync(t)
	want += many(a, "z")
	b.sync(t)
	if restarted {
		want += many(a, "w")
	}
	b.echo(t, "dev", "pending\n")
	harm(t, filepath.Join(b.Dir, "share"), old)
	if restarted || other {
		b = b.again()
	}
	if other { // who finds a copy of its directory, is another host: see hosts
		b.Host.ID = "c"
	}
	b.sync(t)
	a.sync(t)
	for _, r := range []*Rooms{a, b, b.again()} {
		r.sync(t)
		r.holds(t, "dev", want+"pending\n")
	}
}

// A process that begins writes nothing into rooms that are as they are to be: who hears there hears no line again.
func TestBegunAgain(t *testing.T) {
	a := newHost(t, memstore.New(), "a")
	a.echo(t, "dev", "one\n")
	a.sync(t)
	durable.Trace = func(op durable.Op) {
		if op.Path == Path(a.Dir, "dev") && op.Kind != "sync" {
			t.Errorf("%s of %s at %d", op.Kind, op.Path, op.At)
		}
	}
	defer func() { durable.Trace = nil }()
	a.again().sync(t)
}

// What a process that was killed has left in share goes.
func TestLeftovers(t *testing.T) {
	a := newHost(t, memstore.New(), "a")
	a.echo(t, "dev", "one\n")
	a.sync(t)
	young := filepath.Join(a.Dir, "share", ".tmp-1")
	stray := []string{filepath.Join(a.Dir, "share", ".tmp-2"), Path(a.Dir, ".tmp-3")}
	for _, path := range append(stray, young) {
		lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		lethetest.Write(t, path, "one\n")
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range stray {
		lethetest.Must(t, os.Chtimes(path, old, old))
	}
	a.again().sync(t)
	for _, path := range stray {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
}

// What stood in chats before the stream was read is said, also where lines of others are like some of it.
func TestJoined(t *testing.T) {
	_, a, b := two(t)
	a.echo(t, "dev", "from a\nthe same\n")
	a.sync(t)
	b.echo(t, "dev", "from b\nthe same\n")
	b.sync(t)
	b.holds(t, "dev", "from a\nthe same\nfrom b\n")
}

// Who edits a room, of which much is said elsewhere meanwhile, says nothing again but what is new.
func TestEditedMeanwhile(t *testing.T) {
	_, a, b := two(t)
	a.echo(t, "dev", "one\ntwo\nthree\n")
	a.sync(t)
	b.sync(t)
	lethetest.Must(t, durable.WriteFile(chat.Path(b.Dir, "dev"), []byte("one\nthree\nnew\n"), 0o600))
	text := ""
	for n := range 30 {
		text += strings.Repeat("x", n+1) + "\n"
	}
	a.echo(t, "dev", text)
	a.sync(t)
	b.sync(t)
	b.holds(t, "dev", "one\ntwo\nthree\n"+text+"new\n")
}

// A host says nothing into a store that is empty, as one that is not mounted, and nothing with a key that is not the others'.
func TestAnotherStore(t *testing.T) {
	store := memstore.New()
	a := newHost(t, store, "a")
	a.echo(t, "dev", "one\n")
	a.sync(t)
	a.echo(t, "dev", "two\n")
	here := a.Streams
	key := func() *seal.Keys {
		keys, err := seal.Load(lethetest.Dir(t), nil, true)
		lethetest.Must(t, err)
		return keys
	}
	fails := func(want error) {
		t.Helper()
		time.Sleep(freshFor)
		if err := a.Sync(t.Context()); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	a.Streams = &streams.Streams{Store: memstore.New()}
	fails(streams.ErrLess)
	a = a.again()
	fails(streams.ErrLess)
	a.Streams = &streams.Streams{Store: store, Keys: key()}
	fails(seal.ErrKey)
	a.Streams = here
	a.sync(t)
	a.holds(t, "dev", "one\ntwo\n")

	sealed := &streams.Streams{Store: memstore.New(), Keys: key()}
	lethetest.Must(t, os.Remove(filepath.Join(a.Dir, "share", stepFile))) // it is meant
	a = a.again()
	a.Streams = sealed
	a.sync(t)
	a.holds(t, "dev", "one\ntwo\n")
	for _, keys := range []*seal.Keys{nil, key()} {
		a = a.again()
		a.Streams = &streams.Streams{Store: sealed.Store, Keys: keys}
		fails(seal.ErrKey)
	}
}
