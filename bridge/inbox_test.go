package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

func TestAcceptOnce(t *testing.T) {
	b := open(t)
	m := message("1", "ada", "hello\nworld")
	m.Note = json.RawMessage(`{"n":"<7>"}`)
	b.accept(m, m, message("2", "bob", " \n"), named("3", "Bob [x]", "hi"))
	b.accept(m, message("4", "ada", "again"))
	want := []string{"ada: hello\nworld", "Bob_[x: hi", "ada: again"}
	equal(t, "the room", b.texts("dev"), want...)

	b.again()
	b.accept(m, named("3", "Bob [x]", "hi"), message("4", "ada", "again"))
	equal(t, "the room after a restart", b.texts("dev"), want...)
	l := b.lines("dev")[0]
	o, ours := b.origin("dev", l)
	if !ours || o.ID != "1" || o.Peer != "p-ada" || string(o.Note) != string(m.Note) || !o.At.Equal(noon) || o.From != l.From || o.To != l.To {
		t.Errorf("the origin of the first line is %+v", o)
	}
	if o, ours := b.origin("ops", l); ours {
		t.Errorf("the same line in another room has the origin %+v", o)
	}
}

func named(id, user, text string) Message {
	m := message(id, "x", text)
	m.User = user
	return m
}

func TestAcceptRefusesMalformed(t *testing.T) {
	b := open(t)
	for name, change := range map[string]func(*Message){
		"no id": func(m *Message) { m.ID = "" }, "id": func(m *Message) { m.ID = "\xff" },
		"room": func(m *Message) { m.Room = "../x" }, "peer": func(m *Message) { m.Peer = "a/b" },
		"hidden peer": func(m *Message) { m.Peer = ".tmp-1" }, "note": func(m *Message) { m.Note = json.RawMessage("{") },
	} {
		m := message("1", "ada", "x")
		change(&m)
		if err := b.Accept(message("0", "ada", "y"), m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	lethetest.Equal(t, "lines of a refused batch", len(b.lines("dev")), 0)
}

// A user says the same thing twice within a second: that is two messages.
func TestEqualLines(t *testing.T) {
	b := open(t)
	b.accept(message("1", "ada", "ok"), message("2", "ada", "ok"))
	b.accept(message("3", "ada", "ok"))
	b.again()
	b.accept(message("4", "ada", "ok"), message("3", "ada", "ok"))
	equal(t, "the room", b.texts("dev"), "ada: ok", "ada: ok", "ada: ok", "ada: ok")
	raw := map[string]bool{}
	for _, l := range b.lines("dev") {
		raw[string(l.Raw)] = true
	}
	lethetest.Equal(t, "lines that can be told apart", len(raw), 4)
}

func TestDamagedInbox(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"garbage": func([]byte) []byte { return []byte("\x00\x00\x00\n") },
		"flipped": func(data []byte) []byte {
			i := strings.Index(string(data), `"done"`)
			return append(append(data[:i:i], '#'), data[i:]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			now := message("1", "ada", "hello")
			now.At = time.Now()
			b.accept(now)
			b.abandon()
			path := b.file("inbox.jsonl")
			data, err := os.ReadFile(path)
			lethetest.Must(t, err)
			data = damage(data)
			lethetest.Must(t, os.WriteFile(path, data, 0o600))
			b.again()
			kept, _ := filepath.Glob(path + ".damaged-*")
			if len(kept) != 1 || b.log.count("ERROR") != 1 || !strings.Contains(b.log.String(), kept[0]) {
				t.Fatalf("kept %v, log:\n%s", kept, b.log)
			}
			if old, err := os.ReadFile(kept[0]); err != nil || string(old) != string(data) {
				t.Fatalf("kept %q, %v", old, err)
			}
			b.accept(message("2", "ada", "more"))
			equal(t, "the room", b.texts("dev"), "ada: hello", "ada: more")
			b.abandon()
			start(t, b.home, func(c *Config) { c.Log = b.log.logger() })
			if b.log.count("ERROR") != 1 {
				t.Errorf("the damage is reported again:\n%s", b.log)
			}
		})
	}
}

// A torn last line is an append that nobody was told of.
func TestTornInbox(t *testing.T) {
	b := open(t)
	b.accept(message("1", "ada", "one"))
	b.abandon()
	f, err := os.OpenFile(b.file("inbox.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"take":[{"id":"2","room":"dev"`)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b.again()
		b.accept(message("1", "ada", "one"), message("2", "ada", "two"))
		b.abandon()
	}
	equal(t, "the room", b.texts("dev"), "ada: one", "ada: two")
	if b.log.count("torn") != 1 || b.log.count("ERROR") != 0 {
		t.Errorf("the b.log says:\n%s", b.log)
	}
}

// Ten thousand ids are remembered, in a file that stays small, whose appends stay
// short.
func TestManyIDs(t *testing.T) {
	b := open(t)
	const batches, size = 60, 500
	id := func(i int) Message { return message(fmt.Sprint("m", i), "ada", fmt.Sprint("line ", i)) }
	largest := int64(0)
	for n := range batches {
		var r record
		var finished []done
		for i := n * size; i < (n+1)*size; i++ {
			m := id(i)
			r.Take = append(r.Take, taken{Message: m, Line: fmt.Sprint("line ", i)})
			finished = append(finished, done{ID: m.ID, From: int64(i), To: int64(i + 1)})
		}
		// What Accept does, without the room.
		for _, r := range []record{r, {Done: finished}} {
			lethetest.Must(t, b.inbox.write(r))
			b.inbox.apply(r)
		}
		if fi, err := os.Stat(b.file("inbox.jsonl")); err == nil {
			largest = max(largest, fi.Size())
		}
	}
	if largest > 1<<20 {
		t.Errorf("the inbox grows to %d bytes", largest)
	}
	b.again()
	const n = batches * size
	for _, i := range []int{n - 1, n - 5000, n - keepSeen} {
		if !b.inbox.has(id(i).ID) {
			t.Errorf("message %d from the end is forgotten", n-i)
		}
	}
	if b.inbox.has(id(0).ID) {
		t.Error("the first of 30,000 ids is still remembered")
	}
	if got := len(b.inbox.said); got < keepSaid || got > 2*keepSaid {
		t.Errorf("%d lines said are remembered", got)
	}
	if o := b.inbox.lines[lineKey{"dev", chat.Hash(fmt.Appendf(nil, "line %d", n-keepSaid))}]; o.Hash == "" {
		t.Error("a line of the last 200 is forgotten")
	}
}

// An inbox takes no more than it can hold.
func TestFullInbox(t *testing.T) {
	b := open(t)
	lethetest.Must(t, os.MkdirAll(chat.Path(b.home, "dev"), 0o700))
	b.accept(message("1", "ada", "one"))
	b.inbox.waiting = slices.Repeat(b.inbox.waiting, maxWaiting)
	if err := b.Accept(message("2", "ada", "two")); err == nil {
		t.Errorf("takes more than it can hold: %v", err)
	}
}

// Whoever signed lines of a peer is known, and nobody else.
func TestSigners(t *testing.T) {
	b := open(t)
	first, other := message("m1", "ada", "one"), message("m2", "eve", "two")
	other.Peer = "another"
	lethetest.Must(t, b.Accept(first, other))
	dir := filepath.Dir(b.file("inbox.jsonl"))
	if got := Signers(dir, first.Peer); len(got) != 1 || got[0] != "ada" {
		t.Errorf("signed by %q", got)
	}
	if got := Signers(t.TempDir(), first.Peer); len(got) > 0 {
		t.Errorf("without an inbox signed by %q", got)
	}
}
