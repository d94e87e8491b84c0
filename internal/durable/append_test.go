package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Each Append opens the file anew, as another process does: every record is
// whole, once, and where Append said.
func TestAppendConcurrently(t *testing.T) {
	room := filepath.Join(t.TempDir(), "room")
	const routines, records = 12, 60
	type place struct {
		from, to int64
		record   string
	}
	places := make(chan place, routines*records)
	var wg sync.WaitGroup
	for g := range routines {
		wg.Go(func() {
			for i := range records {
				rec := fmt.Sprintf("g%d %d %s\n", g, i, strings.Repeat("y", i*37%5000))
				from, to, err := Append(room, []byte(rec), 0o600)
				if err != nil {
					t.Error(err)
				}
				places <- place{from, to, rec}
			}
		})
	}
	wg.Wait()
	close(places)
	data := mustRead(t, room)
	for p := range places {
		if got := data[p.from:p.to]; got != p.record {
			t.Errorf("bytes %d..%d hold %.40q, want %.40q", p.from, p.to, got, p.record)
		}
	}
	n := 0
	for line := range strings.Lines(data) {
		if line != "\n" { // see Append on empty lines
			n++
		}
	}
	if n != routines*records {
		t.Errorf("%d records, want %d", n, routines*records)
	}
}

func TestAppendFaults(t *testing.T) {
	for _, stage := range []Stage{Before, After} {
		for _, op := range []string{"append", "sync", "syncdir"} {
			path := filepath.Join(t.TempDir(), "room")
			must(t, os.WriteFile(path, []byte("old\n"), 0o600))
			fail(t, stage, op)
			if _, _, err := Append(path, []byte("new\n"), 0o600); !errors.Is(err, errInjected) {
				t.Fatalf("%s %s: error %v, want the injected one", stage, op, err)
			}
			want := "old\nnew\n"
			if op == "append" && stage == Before {
				want = "old\n"
			}
			if got := mustRead(t, path); got != want {
				t.Errorf("%s %s: file holds %q, want %q", stage, op, got, want)
			}
			Fault = nil
		}
	}
}

// A disk that ends a write in the middle leaves the old file and no temporary one;
// an append leaves a torn line, which the next one does not touch.
func TestShortWrite(t *testing.T) {
	dir := t.TempDir()
	file, room := filepath.Join(dir, "file"), filepath.Join(dir, "room")
	for _, p := range []string{file, room} {
		must(t, os.WriteFile(p, []byte("old\n"), 0o600))
	}
	inject(t, func(stage Stage, op, _ string) error {
		if stage == Before && (op == "write" || op == "append") {
			return &Short{Bytes: 2, Err: syscall.ENOSPC}
		}
		return nil
	})
	werr := WriteFile(file, []byte("new\n"), 0o600)
	_, _, aerr := Append(room, []byte("new\n"), 0o600)
	if !errors.Is(werr, syscall.ENOSPC) || !errors.Is(aerr, syscall.ENOSPC) {
		t.Errorf("errors %v, %v", werr, aerr)
	}
	if f, r := mustRead(t, file), mustRead(t, room); f != "old\n" || r != "old\nne" {
		t.Errorf("file %q, room %q", f, r)
	}
	noTemp(t, dir)
	Fault = nil
	from, to, err := Append(room, []byte("next\n"), 0o600)
	if got := mustRead(t, room); err != nil || got != "old\nne\nnext\n" || from != 7 || to != 12 {
		t.Errorf("after a torn line: %q, range %d..%d, %v", got, from, to, err)
	}
}

// What stands at the offset stays: it is gone on with, or nothing is done. Other bytes there are cut off.
func TestWriteEnd(t *testing.T) {
	for _, c := range []struct{ was, want, ops string }{
		{"old\n", "old\nnew\n", "write"},
		{"old\nne", "old\nnew\n", "write"},
		{"old\nnew\n", "old\nnew\n", ""},
		{"old\nnew\nmore\n", "old\nnew\nmore\n", ""},
		{"old\nno\nmore\n", "old\nnew\n", "truncate write"},
	} {
		path := filepath.Join(t.TempDir(), "room")
		must(t, os.WriteFile(path, []byte(c.was), 0o600))
		var ops []string
		Trace = func(op Op) {
			if op.Kind == "truncate" || op.Kind == "write" {
				ops = append(ops, op.Kind)
			}
		}
		var s Syncs
		err := WriteEnd(&s, path, 4, []byte("new\n"), 0o600)
		Trace = nil
		must(t, errors.Join(err, s.Wait()))
		if got := mustRead(t, path); got != c.want || strings.Join(ops, " ") != c.ops {
			t.Errorf("%q becomes %q by %q", c.was, got, ops)
		}
		if err := WriteEnd(&s, path, 99, nil, 0o600); !errors.Is(err, ErrShort) {
			t.Errorf("behind its end: %v", err)
		}
	}
}

// A file is held while a descriptor anywhere can write to it.
func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "room")
	f, err := os.Create(path)
	must(t, err)
	if !Held(path) {
		t.Error("it is open, and not held")
	}
	must(t, f.Close())
	old := time.Now().Add(-2 * time.Minute) // for systems that do not tell
	must(t, os.Chtimes(path, old, old))
	if Held(path) {
		t.Error("it is closed, and held")
	}
}
