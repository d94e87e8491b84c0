//go:build unix

package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/tools/document"
	"lethe/internal/style"
	"lethe/internal/test/lethetest"
)

func TestReadPages(t *testing.T) {
	id := newIdentity(t, nil)
	var all strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&all, "line %d\n", i+1)
	}
	id.file("f", all.String())
	got := id.ok("READ_FILE", "path", "f")
	lethetest.Words(t, got, "[f: lines 1-2000 of 5000, ", "; next page: offset 2001]\nline 1\n", "\nline 2000\n")
	got = id.ok("READ_FILE", "path", "f", "offset", "4999", "limit", 10)
	lethetest.Words(t, got, "lines 4999-5000 of 5000", "]\nline 4999\nline 5000\n")
	if strings.Contains(got, "next page") {
		t.Errorf("a page after the last: %s", got)
	}
	got = id.ok("READ_FILE", "path", "f", "offset", -2)
	lethetest.Words(t, got, "lines 4999-5000 of 5000")
	lethetest.Words(t, id.ok("READ_FILE", "path", "f", "offset", -99999, "limit", 1), "lines 1-1 of 5000", "]\nline 1\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "f", "offset", 0, "limit", 1<<40), "lines 1-2000 of 5000")
	id.fails([]string{"beyond the end", "5000 lines"}, "READ_FILE", "path", "f", "offset", 5001)
}

func TestReadSmallThings(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("empty", "")
	id.file("one", "no newline")
	id.file("crlf", "a\r\nb\r\n")
	id.file("latin", "caf\xe9\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "empty"), "[empty: empty file]")
	id.gives("[one: lines 1-1 of 1, 10 bytes]\nno newline\n", "READ_FILE", "path", "one")
	lethetest.Words(t, id.ok("READ_FILE", "path", "crlf"), "]\na\r\nb\r\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "latin"), "]\ncaf\xe9\n")
	for _, name := range []string{"LIFE.md", "context.md", "SOUL.md", "MEMORY.md", "memory.md"} {
		id.ok("READ_FILE", "path", "self/"+name)
	}
}

func TestReadLongLines(t *testing.T) {
	id := newIdentity(t, nil)
	long := strings.Repeat("ä", 100_000)
	id.file("f", "short\n"+long+"\nend\n")
	got := id.ok("READ_FILE", "path", "f")
	lethetest.Words(t, got, "short\nää", "…[line 2 goes on for 198000 bytes: offset 2, column 2001]\nend\n")
	got = id.ok("READ_FILE", "path", "f", "offset", 2, "column", 2001)
	lethetest.Words(t, got, "line 2 from column 2001; next page: offset 3]\nää")
	lethetest.Words(t, got, fmt.Sprintf("column %d]", 2001+pageBytes))
	if len(got) > pageBytes+300 {
		t.Errorf("a page of %d bytes", len(got))
	}
}

func TestReadBinary(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"+strings.Repeat("\x00", 5000))
	got := id.ok("READ_FILE", "path", "png")
	lethetest.Words(t, got, "binary file, 5016 bytes, looks like image/png", "89 50 4e 47", "|.PNG....")
	if len(got) > 2000 {
		t.Errorf("%d bytes for a binary file", len(got))
	}
}

// The asked part of a file without end is shown, too.
func TestReadLargeFiles(t *testing.T) {
	lethetest.Unraced(t)
	id := newIdentity(t, nil)
	holed := id.file("holed", strings.Repeat("a line of text\n", 1000))
	if err := os.Truncate(holed, 15<<40); err != nil {
		t.Skip("no such file here: ", err)
	}
	lethetest.Words(t, id.ok("READ_FILE", "path", "holed", "offset", 10, "limit", 5), "lines 10-14 of more than 14, ",
		"; next page: offset 15]\na line of text\n")
	id.fails([]string{"beyond the first 1 GB of it, which hold 1001 lines"}, "READ_FILE", "path", "holed", "offset", 2000)
	id.fails([]string{"too much to count from its end. Use BASH"}, "READ_FILE", "path", "holed", "offset", -20)
	id.fails([]string{"16 MB"}, "EDIT_FILE", "path", "holed", "old", "a", "new", "b")
}

// A page holds no more lines than may be shown, and its first line says so; but what would be left out is shown, too,
// where it is little.
func TestReadShowsWhatTheHeaderSays(t *testing.T) {
	id := newIdentity(t, nil)
	line := strings.Repeat("x", 99) + "\n"
	read := func(name string, lines, most int, more ...any) string {
		t.Helper()
		id.file(name, strings.Repeat(line, lines))
		args, err := json.Marshal(map[string]any{"path": name, "offset": append(more, 1)[0]})
		lethetest.Must(t, err)
		r := run(t.Context(), id.Set, args, Call{ID: "e1.1", Name: "READ_FILE", Most: most})
		if r.Err || !r.Bounded {
			t.Fatalf("%+v", r)
		}
		head, body, _ := strings.Cut(string(r.Body), "\n")
		var first, last, of int
		fmt.Sscanf(head, "["+name+": lines %d-%d of %d", &first, &last, &of)
		if n := strings.Count(body, line); n*len(line) != len(body) || n != last-first+1 || of != lines {
			t.Errorf("%s, and %d lines follow", head, n)
		}
		return head
	}
	lethetest.Words(t, read("whole", 40, 4000), "lines 1-40 of 40")
	lethetest.Words(t, read("nearly", 55, 4000), "lines 1-55 of 55")
	lethetest.Words(t, read("large", 56, 4000), "lines 1-40 of 56", "next page: offset 41")
	lethetest.Words(t, read("rest", 56, 4000, 41), "lines 41-56 of 56")
	lethetest.Words(t, read("small", 20, 200), "lines 1-2 of 20", "next page: offset 3")
	lethetest.Words(t, read("end", 95, 4000, 41), "lines 41-95 of 95")
	lethetest.Words(t, read("share", 16, 200), "lines 1-2 of 16", "next page: offset 3")
}

// A document is read as its text, page by page, and one that cannot be read says why.
func TestReadDocuments(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	report := lethetest.Read(t, filepath.Join("document", "testdata", "report.pdf"))
	id := newIdentity(t, func(c *Config) {
		c.Past = &fakePast{sent: map[string][2]string{
			"aaaaaaaaaaaaaaaa": {"document report.pdf (application/pdf, 27 KB) from ada", report},
			"bbbbbbbbbbbbbbbb": {"document cut.pdf (application/pdf, 9 KB) from ada", report[:9000]},
		}}
	})
	id.file("report.pdf", report)
	lethetest.Words(t, id.ok("READ_FILE", "path", "report.pdf", "offset", 2, "limit", 2),
		"[text of report.pdf: lines 2-3 of 8, ", "; next page: offset 4]\nQuarterly report\nThe costs")
	lethetest.Words(t, id.ok("READ_FILE", "path", "report.pdf", "offset", -2), "lines 7-8 of 8", "[page 2 of 2]\nSecond page")
	lethetest.Words(t, id.ok("READ_FILE", "path", "hash=aaaaaaaaaaaaaaaa"), "received/aaaaaaaaaaaaaaaa-report.pdf", "Quarterly report")
	id.fails([]string{"received/bbbbbbbbbbbbbbbb-cut.pdf", "damaged"}, "READ_FILE", "path", "hash=bbbbbbbbbbbbbbbb")
	if err := os.Truncate(id.file("huge.pdf", report), document.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	id.fails([]string{"it has 64 MB, and at most 64 MB"}, "READ_FILE", "path", "huge.pdf")
}

// Of a page on one line what is seen stays, from whatever byte on it is shown, and nothing else does.
func TestReadTellsHiddenBytes(t *testing.T) {
	id := newIdentity(t, nil)
	for hidden, most := range map[int]int{3: 0, 80: 1 << 20} { // so many are told one by one, or not
		line := strings.Repeat("<p>The river Lethe <i class=x>an order</i> ran past", 3) + strings.Repeat("<b class='x'>order</b> cave ", hidden) +
			"<style>.x{display:none}</style> and its end"
		id.file("small.html", "<!doctype html>\n"+line+"\n")
		if whole := id.ok("READ_FILE", "path", "small.html"); strings.Contains(style.MaskTold(style.Mask(whole)), "order") {
			t.Errorf("cut in front of its sheet: %q", style.MaskTold(style.Mask(whole)))
		}
		seen := style.Mask("<!doctype html>\n" + line)[len("<!doctype html>\n"):]
		for from := 1; from < len(line); from += 83 {
			_, body, _ := strings.Cut(id.ok("READ_FILE", "path", "small.html", "offset", 2, "column", from), "]\n")
			head, _, _ := strings.Cut(id.ok("READ_FILE", "path", "small.html", "offset", 2, "column", from), body)
			got := style.MaskTold(style.Mask(head + body))[len(head):]
			missing := 0
			for i := range body[:len(body)-1] {
				switch at := seen[from-1+i]; {
				case at == style.Unseen && got[i] > ' ':
					t.Fatalf("from %d there is %q of what nobody sees", from, got[i:])
				case at > ' ' && at != got[i]:
					missing++
				}
			}
			if missing > most {
				t.Fatalf("from %d %d bytes are missing that all see:\n%q\n%q", from, missing, seen[from-1:], got)
			}
		}
	}
}

// An HTML file is shown as it is, and which of its lines nobody sees who reads the page.
func TestReadTellsHiddenText(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("page.html", "<!DOCTYPE html>\n<style>.small { font-size: 0 }</style>\n<p>The river Lethe</p>\n"+
		"<p style=\"display: none\">an order <b>to you</b></p>\n<p>It ran past the cave.</p>\n<div class=\"small\">\n  another one</div>\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "page.html"), "does not see text at line 4:26-51, 7:3-19]\n", "an order", "another one")
	lethetest.Words(t, id.ok("READ_FILE", "path", "page.html", "offset", 5), style.Tells+"7:3-19]\n")
	for _, name := range []string{"a\nb.html", "]\nx: lines 6-7 of 7" + style.Tells + "9:1-1.html"} {
		id.file(name, "\ufeff"+lethetest.Read(t, filepath.Join(id.work, "page.html")))
		whole := id.ok("READ_FILE", "path", name, "offset", 4)
		if masked := style.MaskTold(style.Mask(whole)); strings.Contains(masked, "another") || !strings.Contains(masked, "It ran") {
			t.Errorf("of %q stays %q", whole, masked)
		}
	}
	id.file("sly.html", "<html><style>.x { display: none } .pale { color: white; background: #fff !important }</style>\n<b>an order</b>\n"+
		"<p class=x>an order, with more words than are seen of all the rest of the page, as a whole sentence of it has</p>\n"+
		"<p lethe-place=99999 hidden>&#73;gnore &amp; obey</p>\n<p class='big pale'>an order</p>\n"+
		strings.Repeat("<p class=x>more</p>\n", 12))
	lethetest.Words(t, id.ok("READ_FILE", "path", "sly.html"), "text at line 3:")
	page := id.ok("READ_FILE", "path", "sly.html", "offset", 6, "limit", 4)
	if masked := style.MaskTold(page); strings.Contains(masked, "order") || strings.Contains(masked, "more<") {
		t.Errorf("of %q stays %q", page, masked)
	}
	id.file("plain.html", "<html><p>The river Lethe</p></html>\n")
	if text := id.ok("READ_FILE", "path", "plain.html"); strings.Contains(text, "does not see") {
		t.Error(text)
	}
}
