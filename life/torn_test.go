package life

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// build returns a log of single lines and its last append, of n lines.
func build(t testing.TB, n int) (before, group string) {
	t.Helper()
	l, path := newLog(t)
	appendAll(t, l, numbered("boot", 1, 1)...)
	appendAll(t, l, numbered("epoch", 2, 1)...)
	appendAll(t, l, numbered("note", 3, 1)...)
	before = mustRead(t, path)
	var events []Event
	for i := range n {
		events = append(events, made("call", []string{fmt.Sprintf("e%d", i)}))
	}
	appendAll(t, l, events...)
	return before, strings.TrimPrefix(mustRead(t, path), before)
}

// reopen writes data as a log, opens it, and checks that keep of it stays, that
// the rest is set aside, and that the log goes on.
func reopen(t *testing.T, path, data string, keep int) {
	t.Helper()
	for _, f := range torn(t, path) {
		os.Remove(f)
	}
	lethetest.Must(t, os.WriteFile(path, []byte(data), 0o600))
	scanned := int64(-1)
	if err := Scan(path, func(e Event, offset int64) error { scanned = offset; return nil }); err != nil {
		t.Fatalf("scan before the repair: %v", err)
	}
	if scanned >= int64(keep) {
		t.Fatalf("scan saw a line at %d, of %d good bytes", scanned, keep)
	}
	l, err := Open(path)
	if err != nil {
		t.Fatalf("open with %d of %d good bytes: %v", keep, len(data), err)
	}
	defer l.Close()
	if got := mustRead(t, path); got != data[:keep] {
		t.Fatalf("kept %d bytes, want %d of %d", len(got), keep, len(data))
	}
	files := torn(t, path)
	if keep == len(data) {
		if l.Torn != "" || len(files) != 0 {
			t.Fatalf("a sound log was mended: %q %v", l.Torn, files)
		}
	} else if len(files) != 1 || l.Torn != files[0] || mustRead(t, l.Torn) != data[keep:] {
		t.Fatalf("torn files %v, Torn %q, want the last %d bytes", files, l.Torn, len(data)-keep)
	}
	if err := l.Append(numbered("resumed", 99, 2)...); err != nil {
		t.Fatalf("the log does not go on: %v", err)
	}
	events := scan(t, path)
	if want := strings.Count(data[:keep], "\n") + 2; len(events) != want {
		t.Fatalf("%d events, want %d", len(events), want)
	}
}

// The last append is cut at any of its bytes: what stands before the cut line
// stays, the rest is set aside.
func TestTornAtAnyByte(t *testing.T) {
	before, group := build(t, 3)
	path := filepath.Join(t.TempDir(), "LIFE.md")
	for cut := 0; cut <= len(group); cut += lethetest.Sample(7, 7, 1) {
		data := before + group[:cut]
		reopen(t, path, data, strings.LastIndex(data, "\n")+1)
	}
	for _, cut := range []int{strings.Index(group, "\n"), strings.Index(group, "\n") + 1, len(group) - 1, len(group)} {
		data := before + group[:cut]
		reopen(t, path, data, strings.LastIndex(data, "\n")+1)
	}
	// The very first line has nothing before it.
	for cut := 0; cut < strings.Index(before, "\n"); cut += lethetest.Sample(7, 7, 1) {
		reopen(t, path, before[:cut], 0)
	}
}

// resume opens a log and reads its end: the last line stands on the one before it, so reading on tells of damage.
func resume(path string) error {
	l, err := Open(path)
	if err == nil {
		_, err = l.SinceEpoch()
		l.Close()
	}
	return err
}

func scanned(path string) error { return Scan(path, func(Event, int64) error { return nil }) }

// sound checks where the sound part of data ends, in memory.
func sound(t *testing.T, data string, keep int) {
	t.Helper()
	end, err := soundEnd(strings.NewReader(data), int64(len(data)), "LIFE.md")
	if err != nil || end.Offset != int64(keep) {
		t.Fatalf("sound up to %d, want %d of %d: %v", end.Offset, keep, len(data), err)
	}
}

// Only some pages of the last append were lost: whole lines of it come after the
// hole. They cannot be kept, since the chain to them is gone, and they are not
// corruption, since nobody was told that they are durable.
func TestNULHole(t *testing.T) {
	before, group := build(t, 5)
	path := filepath.Join(t.TempDir(), "LIFE.md")
	for from := 0; from < len(group); from += 4 {
		for to := from + 1; to < len(group)+11; to += 11 {
			to := min(to, len(group))
			data := before + group[:from] + strings.Repeat("\x00", to-from) + group[to:]
			keep := strings.LastIndex(data[:len(before)+from], "\n") + 1
			sound(t, data, keep)
			sound(t, data[:len(before)+to+(len(group)-to)/2], keep) // and the end is missing, too
			if from%100 == 0 && to%10 == 1 {
				reopen(t, path, data, keep)
			}
		}
	}
}

// A hole that a later append has gone past was synced once: that is damage, and
// setting all after it aside would undo what the life has done.
func TestNULHoleBeforeLaterAppend(t *testing.T) {
	before, group := build(t, 3)
	path := filepath.Join(t.TempDir(), "LIFE.md")
	lethetest.Must(t, os.WriteFile(path, []byte(before+group), 0o600))
	l := mustOpen(t, path)
	appendAll(t, l, numbered("note", 50, 1)...)
	whole := mustRead(t, path)
	later := whole[len(before+group):]
	for from := 0; from < len(group); from += 3 {
		for _, to := range []int{from + 1, len(group)} {
			data := before + group[:from] + strings.Repeat("\x00", to-from) + group[to:] + later
			lethetest.Must(t, os.WriteFile(path, []byte(data), 0o600))
			at := int64(strings.LastIndex(data[:len(before)+from], "\n") + 1)
			var corrupt *CorruptError
			if err := resume(path); !errors.As(err, &corrupt) || corrupt.Offset > int64(len(before+group)) {
				t.Fatalf("hole %d..%d: %v, want corruption", from, to, err)
			}
			if err := scanned(path); !errors.As(err, &corrupt) || corrupt.Offset != at {
				t.Fatalf("hole %d..%d: scan says %v, want corruption at %d", from, to, err, at)
			}
			if mustRead(t, path) != data || len(torn(t, path)) != 0 {
				t.Fatalf("hole %d..%d: a corrupt log was changed", from, to)
			}
		}
	}
}

// Any bit of any line but the last flips: the line is named, or by a resume the next one
// where the bit is of its checksum, and nothing is changed.
func TestCorruptLine(t *testing.T) {
	l, path := newLog(t)
	appendAll(t, l, numbered("epoch", 1, 1)...)
	for i := range 4 {
		appendAll(t, l, numbered("note", 2+i, 1)...)
	}
	whole := mustRead(t, path)
	last := strings.LastIndex(whole[:len(whole)-1], "\n") + 1
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range last {
		data := []byte(whole)
		data[i] ^= 1 << rng.IntN(7)
		if bytes.Count(data, []byte("\n")) != strings.Count(whole, "\n") || bytes.IndexByte(data, 0) >= 0 {
			continue // lines joined or split are another case
		}
		lethetest.Must(t, os.WriteFile(path, data, 0o600))
		want := int64(strings.LastIndex(whole[:i], "\n") + 1)
		next := want + int64(strings.Index(whole[want:], "\n")+1)
		check := func(how string, err error, also int64) {
			t.Helper()
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || corrupt.Offset != want && corrupt.Offset != also || corrupt.Path != path {
				t.Fatalf("byte %d: %s says %v, want corruption at %d", i, how, err, want)
			}
		}
		check("scan", scanned(path), want)
		check("resume", resume(path), next)
		if mustRead(t, path) != string(data) || len(torn(t, path)) != 0 {
			t.Fatalf("byte %d: a corrupt log was changed", i)
		}
	}
}
