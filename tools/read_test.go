//go:build unix

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
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

var (
	nextPage = regexp.MustCompile(`; next page: offset (\d+)\]$`)
	lineGoes = regexp.MustCompile(`…\[line (\d+) goes on for \d+ bytes: offset (\d+), column (\d+)\]$`)
)

// Whatever is in a file, following what the pages say about going on gives all
// of it back.
func TestReadGivesEverythingBack(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Bash = BashOff })
	path := filepath.Join(id.work, "f")
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.OneOf(
			rapid.StringMatching(`[a-zä€𝄞 ]{0,20}`),
			rapid.Custom(func(rt *rapid.T) string {
				n := rapid.IntRange(1, 40_000).Draw(rt, "length") // longer than a page
				return strings.Repeat(rapid.SampledFrom([]string{"x", "ä", "€", "𝄞", "x€"}).Draw(rt, "rune"), n)
			}),
		)
		text := strings.Join(rapid.SliceOfN(line, 1, 30).Draw(rt, "lines"), "\n") + "\n"
		id.put(path, text)
		limit := rapid.IntRange(1, 40).Draw(rt, "limit")
		var back strings.Builder
		for offset := "1"; offset != ""; {
			var body string
			body, offset = id.readPage(rt, "offset", offset, "limit", limit)
			for shown := range strings.Lines(body) {
				back.WriteString(id.wholeLine(rt, strings.TrimSuffix(shown, "\n")) + "\n")
			}
		}
		if back.String() != text {
			rt.Fatalf("got %d bytes back of %d", back.Len(), len(text))
		}
	})
}

func (id *identity) readPage(rt *rapid.T, pairs ...any) (body, next string) {
	r := id.do("READ_FILE", append([]any{"path", "f"}, pairs...)...)
	head, body, ok := strings.Cut(string(r.Body), "\n")
	if r.Err || !ok || len(body) > pageBytes+200 {
		rt.Fatalf("%v: %s", pairs, r.Body)
	}
	if m := nextPage.FindStringSubmatch(head); m != nil {
		next = m[1]
	}
	return body, next
}

func (id *identity) wholeLine(rt *rapid.T, shown string) string {
	m := lineGoes.FindStringSubmatch(shown)
	if m == nil {
		return shown
	}
	column, _ := strconv.Atoi(m[3])
	rest, _ := id.readPage(rt, "offset", m[2], "column", column)
	return strings.TrimSuffix(shown, m[0]) + id.wholeLine(rt, strings.TrimSuffix(rest, "\n"))
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
