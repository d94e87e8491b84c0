//go:build unix

package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestReadPages(t *testing.T) {
	id := newIdentity(t, nil)
	var all strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&all, "line %d\n", i+1)
	}
	id.file("f", all.String())
	got := id.ok("READ_FILE", "path", "f")
	wantWords(t, got, "[f: lines 1-2000 of 5000, ", "; next page: offset 2001]\nline 1\n", "\nline 2000\n")
	got = id.ok("READ_FILE", "path", "f", "offset", "4999", "limit", 10)
	wantWords(t, got, "lines 4999-5000 of 5000", "]\nline 4999\nline 5000\n")
	if strings.Contains(got, "next page") {
		t.Errorf("a page after the last: %s", got)
	}
	got = id.ok("READ_FILE", "path", "f", "offset", -2)
	wantWords(t, got, "lines 4999-5000 of 5000")
	wantWords(t, id.ok("READ_FILE", "path", "f", "offset", -99999, "limit", 1), "lines 1-1 of 5000", "]\nline 1\n")
	wantWords(t, id.ok("READ_FILE", "path", "f", "limit", 1<<40), "lines 1-5000 of 5000")
	id.fails([]string{"beyond the end", "5000 lines"}, "READ_FILE", "path", "f", "offset", 5001)
	id.fails([]string{"at least 1"}, "READ_FILE", "path", "f", "limit", 0)
}

func TestReadSmallThings(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("empty", "")
	id.file("one", "no newline")
	id.file("crlf", "a\r\nb\r\n")
	id.file("latin", "caf\xe9\n")
	wantWords(t, id.ok("READ_FILE", "path", "empty"), "[empty: empty file]")
	if got := id.ok("READ_FILE", "path", "one"); got != "[one: lines 1-1 of 1, 10 bytes]\nno newline\n" {
		t.Errorf("%q", got)
	}
	wantWords(t, id.ok("READ_FILE", "path", "crlf"), "]\na\r\nb\r\n")
	wantWords(t, id.ok("READ_FILE", "path", "latin"), "]\ncaf\xe9\n")
	for _, name := range []string{"LIFE.md", "context.md", "SOUL.md", "MEMORY.md", "memory.md"} {
		id.ok("READ_FILE", "path", "self/"+name)
	}
}

func TestReadLongLines(t *testing.T) {
	id := newIdentity(t, nil)
	long := strings.Repeat("ä", 100_000)
	id.file("f", "short\n"+long+"\nend\n")
	got := id.ok("READ_FILE", "path", "f")
	wantWords(t, got, "short\nää", "…[line 2 goes on for 198000 bytes: offset 2, column 2001]\nend\n")
	got = id.ok("READ_FILE", "path", "f", "offset", 2, "column", 2001)
	wantWords(t, got, "line 2 from column 2001; next page: offset 3]\nää")
	wantWords(t, got, fmt.Sprintf("column %d]", 2001+pageBytes))
	if len(got) > pageBytes+300 {
		t.Errorf("a page of %d bytes", len(got))
	}
}

func TestReadBinary(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"+strings.Repeat("\x00", 5000))
	got := id.ok("READ_FILE", "path", "png")
	wantWords(t, got, "binary file, 5016 bytes, looks like image/png", "89 50 4e 47", "|.PNG....")
	if len(got) > 2000 {
		t.Errorf("%d bytes for a binary file", len(got))
	}
	id.file("elf", "\x7fELF\x02\x01\x01\x00")
	wantWords(t, id.ok("READ_FILE", "path", "elf"), "ELF")
}

// A file with a hole of terabytes reads as zeros without end.
func TestReadRefusesWhatHasNoEnd(t *testing.T) {
	id := newIdentity(t, nil)
	holed := id.file("holed", strings.Repeat("a line of text\n", 1000))
	if err := os.Truncate(holed, 15<<40); err != nil {
		t.Skip("no file of 15 TB here: ", err)
	}
	id.fails([]string{"it has 15 TB", "at most 1 GB", "BASH"}, "READ_FILE", "path", "holed", "offset", -20)
	id.fails([]string{"16"}, "EDIT_FILE", "path", "holed", "old", "a", "new", "b")
}
