package chat

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

func room(t testing.TB, content string) string {
	path := filepath.Join(t.TempDir(), "dev.md")
	write(t, path, content)
	return path
}

func want(t testing.TB, b Batch, lines ...string) {
	t.Helper()
	if got := texts(b.Lines); !slices.Equal(got, lines) {
		t.Fatalf("heard %q, want %q", got, lines)
	}
}

func TestReadGoesOn(t *testing.T) {
	path := room(t, "")
	b := readAll(t, path, Cursor{})
	want(t, b)
	echo(t, path, "one\n\n  \r\ntwo\r\nthr")
	b = readAll(t, path, b.Next)
	want(t, b, "one", "two")
	if l := b.Lines[1]; l.From != 9 || l.To != 14 || string(l.Raw) != "two\r" {
		t.Fatalf("the second line is %+v", l)
	}
	b = readAll(t, path, b.Next)
	want(t, b) // a partial line waits
	echo(t, path, "ee")
	want(t, readAll(t, path, b.Next))
	echo(t, path, "\nfour\n")
	b = readAll(t, path, b.Next)
	want(t, b, "three", "four")
	want(t, readAll(t, path, b.Next))
}

// The cursor after a part of a batch is the one that a bounded read would have given.
func TestAfter(t *testing.T) {
	var content strings.Builder
	for i := range 60 {
		fmt.Fprintf(&content, "line %d %s\n", i, strings.Repeat("x", i*31%900))
		if i%7 == 0 {
			content.WriteString("\n")
		}
	}
	path := room(t, content.String())
	all := readAll(t, path, Cursor{})
	half := all.After(30)
	for _, b := range []Batch{all, readAll(t, path, half)} {
		if got, want := toJSON(t, b.After(len(b.Lines))), toJSON(t, b.Next); got != want {
			t.Fatalf("After(all) = %s, want %s", got, want)
		}
		for n := range b.Lines {
			rest := readAll(t, path, b.After(n))
			if rest.Realigned || rest.Restarted || !slices.Equal(texts(rest.Lines), texts(b.Lines[n:])) {
				t.Fatalf("after %d lines: heard %d of %d, %+v", n, len(rest.Lines), len(b.Lines)-n, rest.Next)
			}
			if got, want := toJSON(t, rest.Next), toJSON(t, b.Next); got != want {
				t.Fatalf("after %d lines and the rest: %s, want %s", n, got, want)
			}
		}
	}
}

// A line that is too long to be held is heard in part, once, and what follows it too.
func TestReadCutLine(t *testing.T) {
	r := fast
	r.maxLine = 100 << 10
	long := strings.Repeat("0123456789", 50<<10) // 500 KiB
	for _, exact := range []int{r.maxLine - 1, r.maxLine, r.maxLine + 1, len(long)} {
		heard := long[:exact]
		if keep := r.maxLine - markLen; exact > r.maxLine {
			heard = fmt.Sprintf("%s … [the other %d bytes of this line are only in the room's file]", long[:keep], exact-keep)
		}
		path := room(t, "one\n"+long[:exact]+"\ntwo\n")
		var got []string
		c, at := Cursor{}, int64(0)
		for range 10 {
			b, err := r.read(path, c, 1<<20)
			if err != nil || b.Realigned || b.Restarted {
				t.Fatal(b, err)
			}
			got, c = append(got, texts(b.Lines)...), b.Next
			for _, l := range b.Lines {
				if l.From != at {
					t.Fatalf("%d bytes: line %d starts at %d, want %d", exact, len(got), l.From, at)
				}
				at = l.To
			}
		}
		if len(got) != 3 || got[0] != "one" || got[1] != heard || got[2] != "two" {
			t.Fatalf("%d bytes: heard %d lines", exact, len(got))
		}
		// An edit before it: the same beginning of the line aligns.
		save(t, path, "one edited\n"+long[:exact]+"\ntwo\nthree\n")
		b, err := r.read(path, c, 1<<20)
		lethetest.Must(t, err)
		want(t, b, "three")
		// Unfinished, it waits.
		write(t, path, long[:exact])
		if b, err = r.read(path, Cursor{}, 1<<20); err != nil || len(b.Lines) != 0 {
			t.Fatalf("%d bytes without newline: %d lines, %v", exact, len(b.Lines), err)
		}
	}
}

func TestReadMissing(t *testing.T) {
	path := room(t, "one\ntwo\n")
	c := readAll(t, path, Cursor{}).Next
	aside := path + ".aside"
	lethetest.Must(t, os.Rename(path, aside))
	b := readAll(t, path, c)
	if !b.Missing || b.Restarted || toJSON(t, b.Next) != toJSON(t, c) || toJSON(t, b.After(0)) != toJSON(t, c) {
		t.Fatalf("a missing room gives %+v", b)
	}
	lethetest.Must(t, os.Rename(aside, path))
	echo(t, path, "three\n")
	want(t, readAll(t, path, b.Next), "three")
	// A link to nothing is a missing room as well.
	link := filepath.Join(t.TempDir(), "dev.md")
	lethetest.Must(t, os.Symlink("nowhere", link))
	if b := readAll(t, link, c); !b.Missing {
		t.Fatalf("a dangling link gives %+v", b)
	}
}

func TestReadEmptied(t *testing.T) {
	path := room(t, "hi\nhello\n")
	c := readAll(t, path, Cursor{}).Next
	write(t, path, "")
	b := readAll(t, path, c)
	if !b.Restarted || b.Realigned || len(b.Lines) > 0 {
		t.Fatalf("an emptied room gives %+v", b)
	}
	echo(t, path, "hi\n") // the same line, said again
	b = readAll(t, path, b.Next)
	want(t, b, "hi")
	if b.Restarted {
		t.Error("a restart is reported twice")
	}
}

// An editor that saves in place empties the file first. Whoever reads at that
// moment waits for the rest.
func TestReadDuringSaveInPlace(t *testing.T) {
	t.Parallel()
	var old strings.Builder
	for i := range 200 {
		fmt.Fprintf(&old, "[USER:ada 2026-11-20T12:57:16Z] message %d\n", i)
	}
	path := room(t, old.String())
	c := readAll(t, path, Cursor{}).Next
	edited := strings.Replace(old.String(), "message 7\n", "message seven\n", 1) + "new\n"

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	lethetest.Must(t, err)
	defer f.Close()
	patient := reader{maxLine: maxLine, quiet: 8 * time.Second, settle: time.Minute} // as a busy machine needs it
	got := make(chan Batch, 1)
	go func() {
		b, err := patient.read(path, c, 0) // ends when the save has
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	for _, part := range []string{edited[:1000], edited[1000:3000], edited[3000:]} {
		select {
		case b := <-got:
			t.Fatalf("Read did not wait: %d lines, restarted %v", len(b.Lines), b.Restarted)
		case <-time.After(25 * time.Millisecond): // the editor's own pace
		}
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	saved := time.Now().Add(-patient.quiet) // so nobody has to wait for as long
	lethetest.Must(t, os.Chtimes(path, saved, saved))
	b := <-got
	want(t, b, "new")
	if !b.Realigned {
		t.Error("the edit is not reported")
	}
}

// A file that somebody never stops rewriting does not hold a reader for ever.
func TestReadDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	path := room(t, "one\n")
	c := readAll(t, path, Cursor{}).Next
	write(t, path, "other\n")
	r := reader{maxLine: maxLine, quiet: 40 * time.Millisecond, settle: 600 * time.Millisecond}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with stop
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				now := time.Now()
				_ = os.Chtimes(path, now, now)
			}
		}
	}()
	start := time.Now()
	b, err := r.read(path, c, 0)
	lethetest.Must(t, err)
	want(t, b, "other")
	if d := time.Since(start); d > 10*time.Second {
		t.Fatalf("read took %v", d)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dev.md")
	lines, total, c, err := Tail(path, 20)
	if err != nil || len(lines) != 0 || total != 0 || toJSON(t, c) != toJSON(t, Cursor{}) {
		t.Fatalf("Tail of nothing = %v, %d, %+v, %v", lines, total, c, err)
	}
	for _, size := range []int{0, 1, 19, 20, 21, 40, 41, 500} {
		var all []string
		var content strings.Builder
		for i := range size {
			all = append(all, fmt.Sprintf("[USER:ada 2026-11-20T12:57:16Z] %d", i))
			content.WriteString(all[i] + "\n\n \n")
		}
		write(t, path, content.String()+"partial")
		for _, n := range []int{0, 1, 20, 1000} {
			lines, total, c, err := Tail(path, n)
			if err != nil || total != size || len(lines) != min(n, size) {
				t.Fatalf("Tail(%d) of %d = %d lines, total %d, %v", n, size, len(lines), total, err)
			}
			b := readAll(t, path, c)
			if b.Realigned || b.Restarted || !slices.Equal(texts(b.Lines), texts(lines)) {
				t.Fatalf("Tail(%d) of %d: the cursor reads %q", n, size, texts(b.Lines))
			}
			for i, l := range lines {
				if r := b.Lines[i]; l.From != r.From || l.To != r.To || !bytes.Equal(l.Raw, r.Raw) {
					t.Fatalf("Tail(%d) of %d: line %d is %+v, read %+v", n, size, i, l, r)
				}
			}
			// It is the cursor of a reader that heard all before, but for the inode.
			if k := size - len(lines); k > 0 && k < size {
				heard := readAll(t, path, Cursor{}).After(k)
				if !slices.Equal(heard.Last, c.Last) {
					t.Fatalf("Tail(%d) of %d remembers %q, a reader %q", n, size, c.Last, heard.Last)
				}
			}
		}
	}
}

func TestHash(t *testing.T) {
	// b3sum of "hello": ea8f163db38682925e4491c5e58d4bb3…
	for _, line := range []string{"hello", "hello\n", "hello\r\n"} {
		if got := Hash([]byte(line)); got != "ea8f163db3868292" {
			t.Errorf("Hash(%q) = %s", line, got)
		}
	}
}

// A writer's cursor behind its own line is that of a reader who heard it.
func TestAt(t *testing.T) {
	path := room(t, "one\n\ntwo\n")
	b := readAll(t, path, Cursor{})
	_, to, err := Append(path, []byte("mine\n"))
	lethetest.Must(t, err)
	at, err := At(path, to)
	lethetest.Must(t, err)
	at.Last = b.Next.Last
	at = at.Remember([]byte("\nmine\n"))
	if got, want := toJSON(t, at), toJSON(t, readAll(t, path, b.Next).Next); got != want {
		t.Fatalf("At and Remember give\n%s, a reader has\n%s", got, want)
	}
}
