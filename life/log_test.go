package life

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// numbered returns n events of a kind, told apart by their argument.
func numbered(kind string, from, n int) []Event {
	out := make([]Event, n)
	for i := range out {
		out[i] = made(kind, []string{fmt.Sprintf("e%d", from+i)}, "say", fmt.Sprintf("line %d\nof many", from+i))
		out[i].Refs = []blobs.Ref{{Hash: soulHash, Gist: "a gist"}}
	}
	return out
}

func appendAll(t testing.TB, l *Log, events ...Event) {
	t.Helper()
	lethetest.Must(t, l.Append(events...))
}

func mustOpen(t testing.TB, path string) *Log {
	t.Helper()
	l, err := Open(path)
	lethetest.Must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	lethetest.Must(t, err)
	return string(data)
}

func torn(t testing.TB, path string) []string {
	t.Helper()
	files, err := filepath.Glob(path + ".torn-*")
	lethetest.Must(t, err)
	return files
}

func args(events []Event) string {
	var out []string
	for _, e := range events {
		out = append(out, e.Kind+":"+e.Arg(0))
	}
	return strings.Join(out, " ")
}

func TestLogRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		l, err := Create(path)
		lethetest.Must(t, err)
		defer func() { l.Close() }()
		var want []Event
		for range rapid.IntRange(0, 5).Draw(t, "appends") {
			group := rapid.SliceOfN(events(), 0, 4).Draw(t, "group")
			lethetest.Must(t, l.Append(group...))
			want = append(want, group...)
			if rapid.Bool().Draw(t, "reopen") {
				l.Close()
				if l, err = Open(path); err != nil || l.Torn != "" {
					t.Fatal(err, l.Torn)
				}
			}
		}
		var got []Event
		lethetest.Must(t, Scan(path, func(e Event, _ int64) error { got = append(got, e); return nil }))
		newest, err := back(l.file, l.end.Offset, l.path, func(Event) bool { return false })
		lethetest.Must(t, err)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(newest, want) {
			t.Fatalf("wrote %v\nscan %v\nback %v", want, got, newest)
		}
	})
}

func TestCreateAndOpen(t *testing.T) {
	l, path := newLog(t)
	if _, err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create twice: %v", err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", fi.Mode(), err)
	}
	if err := l.Append(); err != nil {
		t.Errorf("append nothing: %v", err)
	}
	for _, missing := range []func(string) (*Log, error){Open, View} {
		if _, err := missing(path + ".not"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open a missing log: %v", err)
		}
	}
	l = mustOpen(t, path)
	if got, err := l.SinceEpoch(); err != nil || len(got) != 0 || l.Torn != "" {
		t.Errorf("%v %v %q", got, err, l.Torn)
	}
	if lines, err := l.Lines(5); err != nil || len(lines) != 0 {
		t.Errorf("%v %v", lines, err)
	}
	if _, err := First(path); err != io.EOF {
		t.Errorf("first event of nothing: %v", err)
	}
	appendAll(t, l, numbered("boot", 1, 1)...)
	if e, err := First(path); err != nil || e.Kind != "boot" {
		t.Errorf("%v %v", e, err)
	}
}

func TestSinceEpochAndLines(t *testing.T) {
	l, path := newLog(t)
	appendAll(t, l, numbered("boot", 1, 1)...)
	if got, err := l.SinceEpoch(); err != nil || args(got) != "boot:e1" {
		t.Errorf("without an epoch: %s %v", args(got), err)
	}
	appendAll(t, l, numbered("epoch", 2, 1)...)
	appendAll(t, l, numbered("note", 3, 2)...)
	appendAll(t, l, append(numbered("fade", 5, 2), numbered("epoch", 7, 1)...)...)
	appendAll(t, l, numbered("note", 8, 2)...)
	if got, err := l.SinceEpoch(); err != nil || args(got) != "epoch:e7 note:e8 note:e9" {
		t.Errorf("%s %v", args(got), err)
	}
	all := strings.Split(strings.TrimSuffix(mustRead(t, path), "\n"), "\n")
	for _, n := range []int{0, 1, 3, len(all), 100} {
		got, err := l.Lines(n)
		if want := all[len(all)-min(n, len(all)):]; err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("last %d lines: %q %v", n, got, err)
		}
	}
	from, err := ReadFrom(path, Mark{})
	for range 3 {
		if err == nil {
			_, _, err = from.Next()
		}
	}
	lethetest.Must(t, err)
	from.Close()
	rest, err := ReadFrom(path, from.At)
	lethetest.Must(t, err)
	defer rest.Close()
	if e, follows, err := rest.Next(); err != nil || e.Arg(0) != "e4" || !follows {
		t.Errorf("after the third line comes %s %v %v", e, follows, err)
	}
	for _, m := range []Mark{{from.At.Offset, "000000000000"}, {from.At.Offset - 1, from.At.Sum}, {1 << 20, from.At.Sum}, {3, ""}} {
		if _, err := ReadFrom(path, m); !errors.Is(err, ErrOtherLog) {
			t.Errorf("read from %+v: %v", m, err)
		}
	}
}

// The log is not written to when it is not the file that was opened.
func TestAppendNoticesAnotherHand(t *testing.T) {
	for name, touch := range map[string]func(path string) error{
		"replaced": func(path string) error { return durable.Replace(path, []byte(mustRead(t, path)), 0o600) },
		"cut":      func(path string) error { return os.Truncate(path, 10) },
		"removed":  os.Remove,
		"grown": func(path string) error {
			_, _, err := durable.Append(path, []byte("by hand\n"), 0o600)
			return err
		},
	} {
		l, path := newLog(t)
		appendAll(t, l, numbered("boot", 1, 1)...)
		lethetest.Must(t, touch(path))
		before, _ := os.ReadFile(path)
		for range 2 {
			if err := l.Append(numbered("note", 2, 1)...); err == nil {
				t.Errorf("%s: append: %v", name, err)
			}
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestView(t *testing.T) {
	l, path := newLog(t)
	appendAll(t, l, numbered("epoch", 1, 3)...)
	whole := mustRead(t, path)
	half := whole + whole[:40] // a line that is being written
	lethetest.Must(t, os.WriteFile(path, []byte(half), 0o600))
	v, err := View(path)
	lethetest.Must(t, err)
	defer v.Close()
	if got, err := v.SinceEpoch(); err != nil || args(got) != "epoch:e3" {
		t.Errorf("%s %v", args(got), err)
	}
	if lines, err := v.Lines(1); err != nil || lines[0]+"\n" != whole[strings.LastIndex(whole, "[2026"):] {
		t.Errorf("%q %v", lines, err)
	}
	if err := v.Append(numbered("note", 4, 1)...); err == nil {
		t.Error("a view takes events")
	}
	if mustRead(t, path) != half || len(torn(t, path)) != 0 {
		t.Error("view changed something")
	}
}
