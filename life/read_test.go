package life

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// sparse makes a file of size bytes and more, whose end is a log with an epoch;
// what comes before it is a hole, as good as any damage.
func sparse(t testing.TB, size int64) (path string, tail int) {
	t.Helper()
	l, path := newLog(t)
	appendAll(t, l, numbered("note", 0, 1)...)
	appendAll(t, l, numbered("epoch", 1, 1)...)
	for i := range 20 {
		appendAll(t, l, numbered("note", 2+i, 1)...)
	}
	data := mustRead(t, path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	lethetest.Must(t, err)
	defer f.Close()
	lethetest.Must(t, f.Truncate(0))
	if _, err := f.WriteAt([]byte("\n"+data), size); err != nil {
		t.Fatal(err)
	}
	return path, len(data)
}

// Opening and resuming read the end of a log, however long it is.
func TestResumeReadsOnlyTheEnd(t *testing.T) {
	const size = 1 << 30
	path, tail := sparse(t, size)
	f, err := os.Open(path)
	lethetest.Must(t, err)
	defer f.Close()
	c := &counting{ReaderAt: f}
	all := int64(size + 1 + tail)
	end, err := soundEnd(c, all, path)
	if err != nil || end.Offset != all {
		t.Fatalf("sound up to %d, want %d, %v", end.Offset, all, err)
	}
	events, err := back(c, all, path, func(e Event) bool { return e.Kind == Epoch })
	if err != nil || len(events) != 21 || events[0].Kind != Epoch {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if limit := int64(3 * (64<<10 + tail)); c.n > limit {
		t.Errorf("%d bytes were read of a log whose last epoch has %d", c.n, tail)
	}
	l := mustOpen(t, path)
	appendAll(t, l, numbered("note", 50, 1)...)
	if events, err = l.SinceEpoch(); err != nil || len(events) != 22 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestReadErrorsAreNotTornEnds(t *testing.T) {
	broken := errors.New("broken disk")
	r := failing{broken}
	if _, err := soundEnd(r, 100, "LIFE.md"); !errors.Is(err, broken) {
		t.Errorf("sound end: %v", err)
	}
	if _, err := back(r, 100, "LIFE.md", func(Event) bool { return false }); !errors.Is(err, broken) {
		t.Errorf("back: %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// Backwards come the lines that come forwards, whatever their lengths are to the chunks read.
func TestBackward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data bytes.Buffer
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			n := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(64<<10-3, 64<<10+3), rapid.IntRange(0, 300_000)).Draw(t, "length")
			data.WriteString(strings.Repeat("x", n) + "\n")
		}
		data.WriteString(strings.Repeat("y", rapid.IntRange(0, 3).Draw(t, "tail")))
		var want []string
		forwards := bufio.NewReader(bytes.NewReader(data.Bytes()))
		for line, err := nextLine(forwards); err == nil; line, err = nextLine(forwards) {
			want = append(want, line)
		}
		var got []string
		offset := int64(data.Len())
		lethetest.Must(t, backwards(bytes.NewReader(data.Bytes()), offset, "LIFE.md", func(line string, at Mark) bool {
			if offset -= int64(len(line)); offset != at.Offset {
				t.Fatalf("line starts at %d, want %d", at.Offset, offset)
			}
			got = append(got, line)
			return true
		}))
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	})
}

// A hole in a log is damage, told without reading it into memory.
// A moment leads to the first line that was written then or later, as reading all lines tells it.
func TestSeek(t *testing.T) {
	l, err := Create(filepath.Join(t.TempDir(), "LIFE.md"))
	lethetest.Must(t, err)
	defer l.Close()
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	begins := map[time.Time]int64{at.Add(-time.Hour): 0}
	for i := range 200 {
		begins[at.Add(-time.Millisecond)], begins[at] = l.End().Offset, l.End().Offset
		appendAll(t, l, Event{At: at, Kind: "stopped", Fields: []Field{{Key: "why", Value: strings.Repeat("x", i*i%700)}}})
		at = at.Add(time.Duration(1+i%3) * time.Second)
	}
	begins[at] = l.End().Offset
	for moment, want := range begins {
		if got, err := l.Seek(moment); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", moment, got, err, want)
		}
	}
}

func TestHoleInLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LIFE.md")
	log, err := Create(path)
	lethetest.Must(t, err)
	lethetest.Must(t, log.Append(made("boot", nil, "name", "ada")))
	log.Close()
	lethetest.Must(t, os.Truncate(path, 20<<30))
	_, viewed := View(path)
	for what, err := range map[string]error{"view": viewed, "scan": scanned(path)} {
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}
