package chat

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

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
