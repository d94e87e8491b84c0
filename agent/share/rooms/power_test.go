package rooms

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/crashdisk"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// A power loss at any moment of a host takes no line that was appended, posted or came from another host, and doubles
// none: what stands there agrees with the store, or is read anew.
func TestPowerLoss(t *testing.T) {
	store, a, b := two(t)
	b.sync(t)
	ops := onDisk(t, b.Dir)
	begun := len(ops)
	made := map[int]int{} // by number of an entry, the operations before it
	store.Fault = func(op, stream string, n int) (bool, error) {
		if op == "create" && stream == Stream {
			made[n] = len(ops)
		}
		return true, nil
	}
	durable.Trace = func(op durable.Op) {
		if op, ok := crashdisk.In(b.Dir, op); ok {
			ops = append(ops, op)
		}
	}
	defer func() { durable.Trace = nil }()
	appended := map[string]int{} // lines of people here, and the operations until they were durable
	var posts []string
	for k := range 2 {
		long := strings.Repeat("x", 5000) // so that what is lost may be far above the end
		a.echo(t, "dev", fmt.Sprintf("of a %d %s\n", k, long))
		a.echo(t, "ops", fmt.Sprintf("of a too %d\n", k))
		a.sync(t)
		b.sync(t)
		if k == 0 {
			a.echo(t, "dev", "of a again "+long+"\n")
			a.sync(t)
			b.sync(t)
		}
		line := fmt.Sprintf("of b %d\n", k)
		_, _, err := durable.Append(chat.Path(b.Dir, "dev"), []byte(line), 0o600)
		lethetest.Must(t, err)
		appended[line] = len(ops)
		lethetest.Must(t, b.Publish(t.Context()))
		posts = append(posts, fmt.Sprintf("[AGENT:ada 2026-11-20T12:57:1%dZ] hi\n", k))
		_, _, err = b.Post(t.Context(), "dev", []byte(posts[k]), chat.Mark{})
		lethetest.Must(t, err)
	}
	durable.Trace, store.Fault = nil, nil
	random := rand.New(rand.NewPCG(1, 2))
	states := 0
	for n := begun; n <= len(ops); n++ {
		disk := crashdisk.New()
		for _, op := range ops[:n] {
			disk.Do(op)
		}
		for _, keep := range []float64{0, 0.5, 1} {
			now := memstore.New()
			for entry, before := range made {
				if before <= n {
					lethetest.Must(t, now.Create(t.Context(), Stream, entry, store.Bytes(Stream, entry)))
				}
			}
			c := newHost(t, now, "b")
			lethetest.Must(t, disk.PowerLoss(keep, random).Write(c.Dir))
			lethetest.Must(t, os.MkdirAll(chat.Dir(c.Dir), 0o700))
			c.sync(t)
			for _, line := range posts { // which a life owes until it knows
				_, _, err := c.Post(t.Context(), "dev", []byte(line), chat.Mark{})
				lethetest.Must(t, err)
			}
			c.sync(t)
			text := lethetest.Read(t, Path(c.Dir, "dev"))
			torn, isSame := strings.CutPrefix(lethetest.Read(t, chat.Path(c.Dir, "dev")), text)
			if !isSame || strings.Contains(torn, "\n") { // what somebody appended may be cut short
				t.Errorf("behind %d operations, keeping %v, chats has %q", n, keep, torn)
			}
			for line, upto := range appended {
				if got := strings.Count(text, line); got > 1 || got == 0 && upto <= n {
					t.Errorf("behind %d operations, keeping %v: %q stands there %d times", n, keep, line, got)
				}
			}
			for _, line := range posts {
				if got := strings.Count(text, line); got != 1 {
					t.Errorf("behind %d operations, keeping %v: %q stands there %d times", n, keep, line, got)
				}
			}
			other := newHost(t, now, "c")
			other.sync(t)
			other.holds(t, "dev", text)
			if t.Failed() {
				t.Fatalf("the last operation is %+v of %s, and there is\n%s", ops[max(0, n-1)].Kind, filepath.Base(ops[max(0, n-1)].Path), text)
			}
			states++
		}
	}
	lethetest.Tried(t, states)
}

// A line that somebody appends behind lines that a power loss took from chats, or an editor, stands there once, also if
// it is longer than they were, and after another start.
func TestAppendedBehindLost(t *testing.T) {
	for _, line := range []string{"it\n", "it is longer than what is lost\n"} {
		r := newHost(t, memstore.New(), "a")
		r.echo(t, "dev", "one\ntwo\nthree\n")
		r.sync(t)
		lethetest.Write(t, chat.Path(r.Dir, "dev"), "one\n"+line)
		for range 3 {
			r = r.again()
			r.sync(t)
			r.holds(t, "dev", "one\ntwo\nthree\n"+line)
		}
	}
}

// onDisk returns operations that make a directory as it is.
func onDisk(t *testing.T, dir string) (ops []durable.Op) {
	lethetest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || name == ".":
		case d.IsDir():
			ops = append(ops, durable.Op{Kind: "mkdir", Path: name}, durable.Op{Kind: "syncdir", Path: filepath.Dir(name)})
		default:
			data := []byte(lethetest.Read(t, path))
			ops = append(ops, durable.Op{Kind: "write", Path: name, Data: data}, durable.Op{Kind: "sync", Path: name},
				durable.Op{Kind: "syncdir", Path: filepath.Dir(name)})
		}
		return err
	}))
	return ops
}
