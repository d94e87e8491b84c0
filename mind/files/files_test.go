package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind/files"
)

// folded folds lines, without their times and checksums.
func folded(t *testing.T, lines ...string) (fold files.Fold) {
	t.Helper()
	for _, line := range lines {
		line = "[2026-11-29T02:24:10.002193Z] " + line + " #000000000000"
		e, err := life.ParseLine(line)
		lethetest.Must(t, err)
		fold.Apply(e)
	}
	return fold
}

// A life knows the versions that it saw last, and those that it began to make since.
func TestSaw(t *testing.T) {
	read := "result e2.1 READ_FILE status=ok saw=a.md:01"
	began := "call e3.1 WRITE_FILE makes=a.md:02 kept=yes ◱hash=abcd gist=args◲ ◱hash=cdef gist=what a.md was◲"
	ended := "result e3.1 WRITE_FILE status=ok saw=a.md:02"
	for _, c := range []struct{ lines, knows string }{
		{"", "01 02 03"},
		{read, "01"},
		{read + "\n" + began, "01 02"}, // whether it was made, a crash has hidden
		{read + "\n" + began + "\n" + ended, "02"},
		{began + "\n" + read, "01"},
		{read + "\n" + strings.Replace(read, "01", "03", 1), "03"},
		{read + "\nnote e5 why=run saw=a.md:02 run=qab status=ok", "02"},
		{strings.Replace(read, "a.md", "self/MEMORY.md", 1) + "\nnote e5 why=file file=MEMORY.md:02", "02"},
		{"run qab WRITE_FILE makes=a.md:03\n" + strings.Replace(read, "a.md", "b.md", 1), "03"},
	} {
		fold := folded(t, strings.FieldsFunc(c.lines, func(r rune) bool { return r == '\n' })...)
		name := "a.md"
		if fold.Files["self/MEMORY.md"] != nil {
			name = "self/MEMORY.md"
		}
		var knows []string
		for _, hash := range []string{"01", "02", "03"} {
			if _, err := fold.Refuse(event.File{Name: name, Hash: hash}, ""); err == nil {
				knows = append(knows, hash)
			}
		}
		if !slices.Equal(knows, strings.Fields(c.knows)) {
			t.Errorf("%s\nknows %q, want %s", c.lines, knows, c.knows)
		}
	}
	restored := "note e7 why=restored saw=a.md:04 ◱hash=aaaa gist=said◲ ◱hash=bbbb gist=what a.md was◲"
	if last := folded(t, restored).Files["a.md"][0]; last.Was != "bbbb" || last.Call != "e7" || !last.Seen {
		t.Errorf("restored: %+v", last)
	}
	all := folded(t, "inbound e1 room=dev inode=1 at=0..9 before=ab lines=1 ◱hash=0123 gist=dev: change it◲", read, began, ended).
		Files["a.md"]
	if len(all) != 2 || all[1].Call != "e3.1" || all[1].Was != "cdef" || all[1].Why.Hash != "0123" || !all[1].Seen {
		t.Errorf("versions %+v", all)
	}
}

func TestADifferenceIsToTheVersionThatWasSeenLast(t *testing.T) {
	var fold files.Fold
	version := func(hash string) event.File { return event.File{Name: "a.txt", Hash: hash} }
	fold.See(version("1"), "first\n")
	fold.See(version("2"), strings.Repeat("large\n", 20_000)) // too long to be held
	shown, err := fold.Refuse(version("3"), "first\nmore\n")
	if shown || err == nil || strings.Contains(err.Error(), "as you saw it") {
		t.Errorf("shown %v: %v; want no difference to an older version", shown, err)
	}
}

// A file that the life has changed for an earlier reason tells of that in at most 60 tokens, and no name in it forges a ref.
func TestPast(t *testing.T) {
	var lines []string
	hear := func(hash string) {
		lines = append(lines, "inbound e1 room=dev inode=1 at=0..9 before=ab lines=1 ◱hash="+hash+" gist=dev: change it◲")
	}
	makes := func(name string) { lines = append(lines, fmt.Sprintf("call e3.1 WRITE_FILE makes=%q", name+":01")) }
	hear("0123456789abcdef")
	for _, name := range []string{"a.md", "b.md", "c ◱hash=ffff gist=x◲", strings.Repeat("long", 40)} {
		makes(name)
	}
	lines = append(lines, "result e3.2 READ_FILE status=ok saw=read.md:01")
	past := func(name, hash string) string {
		t.Helper()
		fold := folded(t, lines...)
		return fold.Past(event.File{Name: name, Hash: hash})
	}
	if got := past("a.md", "01"); got != "" {
		t.Errorf("in the same turn: %s", got)
	}
	hear("aaaaaaaaaaaaaaaa")
	makes("d.md")
	const want = `you changed it 2026-11-29, why: hash=0123456789abcdef`
	const with = `; with it: "b.md", "c \u25f1hash=ffff gist=x\u25f2"`
	if got := past("a.md", "01"); got != want+with {
		t.Errorf("past is %s, want %s", got, want+with)
	}
	if got := past("a.md", "02"); got != want+`; it has changed since; with it: "b.md", "c \u25f1hash=ffff gist=x\u25f2"` || len(got) > 160 {
		t.Errorf("past is %s", got)
	}
	for _, name := range []string{"read.md", "d.md", "none.md"} {
		if got := past(name, "01"); got != "" {
			t.Errorf("past of %s: %s", name, got)
		}
	}
}

// What a life tells of a file where it has worked on 30,000 of them takes a small part of what it took to fold them: both
// are timed in one run, so that other work slows them alike.
func TestPastOfManyFiles(t *testing.T) {
	lethetest.Unraced(t)
	var fold files.Fold
	began := time.Now()
	for i := range 30_000 {
		makes := life.Field{Key: "makes", Value: fmt.Sprintf("src/%d/file%d.go:01", i%100, i)}
		line := life.Event{Kind: "call", Args: []string{"e3.1", "WRITE_FILE"}, Fields: []life.Field{makes}}
		if i%5 == 0 {
			fold.Apply(life.Event{Kind: "inbound", Refs: []blobs.Ref{{Hash: fmt.Sprintf("%016x", i)}}})
		}
		fold.Apply(line)
	}
	folded, least := time.Since(began), time.Hour
	for range 50 {
		began := time.Now()
		if fold.Past(event.File{Name: "src/0/file0.go", Hash: "01"}) == "" {
			t.Fatal("nothing is told")
		}
		least = min(least, time.Since(began))
	}
	if t.Logf("%v, folded in %v", least, folded); least > folded/5 {
		t.Errorf("it takes %v, and folding all took %v", least, folded)
	}
}
