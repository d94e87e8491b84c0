package chat

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// counted is a file that counts the bytes that are read from it.
type counted struct {
	*os.File
	read int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.File.ReadAt(b, at)
	c.read += n
	return n, err
}

// A hole in a room costs next to nothing, and what stands behind it is heard.
func TestScanHole(t *testing.T) {
	path := room(t, "one\n")
	if err := os.Truncate(path, 4<<30); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if at, err := f.Seek(1<<30, unix.SEEK_DATA); err == nil && at == 1<<30 {
		t.Skip("this file system does not tell holes")
	}
	for _, end := range []string{"", "x", "\ntwo\n"} {
		echo(t, path, end)
		c := &counted{File: f}
		s := newScanner(c, 0, maxLine)
		var got []string
		for s.next() {
			got = append(got, string(s.raw[:3]))
		}
		want := "one"
		if strings.HasSuffix(end, "\n") {
			want = "one|\x00\x00\x00|two"
		}
		if strings.Join(got, "|") != want || s.err != nil || c.read > 4*maxLine {
			t.Errorf("after %q: lines %q, %v, %d bytes read; want %q", end, got, s.err, c.read, want)
		}
	}
}

// A line of 50 MB costs the memory of the part that is heard, which says that it is a part.
func TestReadLongLineInLittleMemory(t *testing.T) {
	const size = 50 << 20
	path := room(t, strings.Repeat("x", size)+"\ntwo\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := Read(path, Cursor{}, 0)
	runtime.ReadMemStats(&after)
	if err != nil || len(b.Lines) != 1 || !b.More {
		t.Fatalf("%d lines, more %v, %v", len(b.Lines), b.More, err)
	}
	mark := fmt.Sprintf("x … [the other %d bytes of this line are only in the room's file]", size-maxLine+markLen)
	if got := b.Lines[0].Text; len(got) > maxLine || !strings.HasSuffix(got, mark) {
		t.Errorf("heard %d bytes, that end in %q", len(got), got[max(0, len(got)-100):])
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 10*maxLine {
		t.Errorf("%d bytes were allocated", used)
	}
	want(t, readAll(t, path, b.Next), "two")
}
