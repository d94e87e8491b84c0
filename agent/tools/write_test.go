//go:build unix

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func TestWrite(t *testing.T) {
	id := newIdentity(t, nil)
	id.gives("made a/b/c.txt: 7 bytes, 2 lines", "WRITE_FILE", "path", "a/b/c.txt", "content", "one\ntwo")
	path := filepath.Join(id.work, "a/b/c.txt")
	lethetest.Must(t, os.Chmod(path, 0o755))
	id.gives("replaced a/b/c.txt: 0 bytes, 0 lines", "WRITE_FILE", "path", "a/b/c.txt", "content", "")
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o755 || fi.Size() != 0 {
		t.Errorf("mode not kept: %v, %v", fi, err)
	}
	id.fails([]string{"directory"}, "WRITE_FILE", "path", "a/b", "content", "x")
	id.fails([]string{"directory"}, "WRITE_FILE", "path", ".", "content", "x")
	id.fails([]string{"not a directory"}, "WRITE_FILE", "path", "a/b/c.txt/d", "content", "x")
	id.fails([]string{"missing argument", "content"}, "WRITE_FILE", "path", "x")
	if left, _ := filepath.Glob(filepath.Join(id.work, "a/b/.tmp-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteOwnFiles(t *testing.T) {
	id := newIdentity(t, nil)
	for _, name := range []string{"MEMORY.md", "SEGMENT.md", "SUMMARISE.md"} {
		r := id.do("WRITE_FILE", "path", "self/"+name, "content", "text\n")
		if r.Err || r.Touched != name || lethetest.Read(t, filepath.Join(id.dir, name)) != "text\n" {
			t.Errorf("%s: touched %q, %s", name, r.Touched, r.Body)
		}
		r = id.do("EDIT_FILE", "path", "self/"+name, "old", "text", "new", "other")
		if r.Err || r.Touched != name {
			t.Errorf("%s: touched %q, %s", name, r.Touched, r.Body)
		}
		if fi, _ := os.Stat(filepath.Join(id.dir, name)); fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, fi.Mode())
		}
	}
	for _, name := range []string{"LIFE.md", "context.md", "SOUL.md"} {
		for _, r := range []Result{
			id.do("WRITE_FILE", "path", "self/"+name, "content", "text"),
			id.do("EDIT_FILE", "path", "self/"+name, "old", "life", "new", "text"),
		} {
			if !r.Err || r.Touched != "" {
				t.Errorf("%s: %s", name, r.Body)
			}
			lethetest.Words(t, string(r.Body), "only be read", "self/MEMORY.md")
		}
	}
	if r := id.do("WRITE_FILE", "path", "f", "content", "x"); r.Touched != "" {
		t.Errorf("touched %q", r.Touched)
	}
}

func TestWriteWarnsOfLongMemory(t *testing.T) {
	id := newIdentity(t, nil)
	if got := id.ok("WRITE_FILE", "path", "self/MEMORY.md", "content", strings.Repeat("ä", 4000)); strings.Contains(got, "warning") {
		t.Errorf("4000 characters: %s", got)
	}
	lethetest.Words(t, id.ok("EDIT_FILE", "path", "self/MEMORY.md", "old", strings.Repeat("ä", 4000), "new", strings.Repeat("ö", 4001)),
		"warning", "4001 characters", "first 4000")
	if got := id.ok("WRITE_FILE", "path", "f", "content", strings.Repeat("x", 5000)); strings.Contains(got, "warning") {
		t.Errorf("another file: %s", got)
	}
}

// A disk that ends a write in the middle leaves the old file.
func TestWriteThatFailsChangesNothing(t *testing.T) {
	id := newIdentity(t, nil)
	path := id.file("f", "old")
	durable.Fault = func(stage durable.Stage, op, _ string) error {
		if stage == durable.Before && op == "write" {
			return &durable.Short{Bytes: 2, Err: syscall.ENOSPC}
		}
		return nil
	}
	defer func() { durable.Fault = nil }()
	id.fails([]string{"write f: no space left on device"}, "WRITE_FILE", "path", "f", "content", "new")
	entries, _ := os.ReadDir(id.work)
	if got := lethetest.Read(t, path); got != "old" || len(entries) != 1 {
		t.Errorf("the file holds %q, beside %v", got, entries)
	}
}

func TestEdit(t *testing.T) {
	id := newIdentity(t, nil)
	path := id.file("f", "func main() {\n\tprintln(1)\n}\n")
	id.gives("edited f at line 2", "EDIT_FILE", "path", "f", "old", "println(1)", "new", "println(2)\n\tprintln(3)")
	lethetest.Holds(t, path, "func main() {\n\tprintln(2)\n\tprintln(3)\n}\n")
	id.ok("EDIT_FILE", "path", "f", "old", "\tprintln(3)\n", "new", "")
	id.fails([]string{"give old", "WRITE_FILE"}, "EDIT_FILE", "path", "f", "old", "", "new", "x")
	id.fails([]string{"nothing to change"}, "EDIT_FILE", "path", "f", "old", "main", "new", "main")
	lethetest.Holds(t, path, "func main() {\n\tprintln(2)\n}\n")
}

func TestEditFailuresHelp(t *testing.T) {
	id := newIdentity(t, nil)
	const text = "alpha := one\n\tbeta := two\ngamma := three\nbeta\nbeta\n"
	path := id.file("f", text)
	id.fails([]string{"most similar line is 3:\ngamma := three\n", "READ_FILE with offset 1"}, "EDIT_FILE", "path", "f", "old",
		"gama := three;", "new", "x")
	id.fails([]string{"most similar line is 2:\n\tbeta := two\n"}, "EDIT_FILE", "path", "f", "old", "\t beta  :=  two", "new", "x")
	id.fails([]string{"occurs 3 times, at lines 2, 4, 5", "unique"}, "EDIT_FILE", "path", "f", "old", "beta", "new", "x")
	id.file("many", strings.Repeat("x\n", 100))
	id.fails([]string{"occurs 100 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"}, "EDIT_FILE", "path", "many", "old", "x", "new", "y")
	id.file("empty", "")
	id.fails([]string{"empty", "WRITE_FILE"}, "EDIT_FILE", "path", "empty", "old", "x", "new", "y")
	id.file("bin", "a\x00b")
	id.fails([]string{"binary"}, "EDIT_FILE", "path", "bin", "old", "a", "new", "y")
	id.file("big", strings.Repeat("x", maxEdit+1))
	id.fails([]string{"16 MB", "BASH"}, "EDIT_FILE", "path", "big", "old", "x", "new", "y")
	if lethetest.Read(t, path) != text {
		t.Error("a failed edit changed the file")
	}
}

func TestEditOverlappingIsNotUnique(t *testing.T) {
	if _, _, err := substitute("aaa", "aa", "b"); err == nil || !strings.Contains(err.Error(), "2 times") {
		t.Errorf("%v", err)
	}
	if _, _, err := substitute("\n\nx\n\n", "\n\n", "b"); err == nil || !strings.Contains(err.Error(), "lines 1, 3") {
		t.Errorf("%v", err)
	}
}

func TestEditKeepsLineEndings(t *testing.T) {
	id := newIdentity(t, nil)
	path := id.file("f", "one\r\ntwo\r\nthree\r\n")
	id.ok("EDIT_FILE", "path", "f", "old", "one\ntwo", "new", "1\n2")
	lethetest.Holds(t, path, "1\r\n2\r\nthree\r\n")
}

func TestList(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("b.txt", "12345")
	id.file("a/x", "")
	id.file("z dir/y", "")
	id.file(".hidden", strings.Repeat("x", 1536))
	id.file("evil\nname", "")
	id.file("run.sh", "#!")
	lethetest.Must(t, os.Chmod(filepath.Join(id.work, "run.sh"), 0o755))
	lethetest.Must(t, os.Symlink("b.txt", filepath.Join(id.work, "link")))
	want := "[.: 2 directories, 5 others]\na/\nz dir/\n.hidden  1.5 KB\nb.txt  5 bytes\n\"evil\\nname\"  0 bytes\nlink -> " +
		"\"b.txt\"\nrun.sh  2 bytes, executable\n"
	for _, path := range []string{".", "./", id.work} {
		if got := id.ok("LIST", "path", path); strings.Replace(got, "["+path+":", "[.:", 1) != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	id.gives("b.txt  5 bytes\n", "LIST", "path", "b.txt")
	lethetest.Words(t, id.ok("LIST", "path", "self"), "self/MEMORY.md  7 bytes, writable\n",
		"self/LIFE.md  5 bytes, read only\n", "self/SEGMENT.md  not written yet, writable\n")
}

func TestListIsBounded(t *testing.T) {
	id := newIdentity(t, nil)
	for i := range 1234 {
		id.file(fmt.Sprintf("d/%04d", i), "")
	}
	got := id.ok("LIST", "path", "d")
	lethetest.Words(t, got, "[d: 0 directories, 1234 others]", "0000  0 bytes", "0499  0 bytes", "[734 more are not shown")
	if n := strings.Count(got, "\n"); n != 502 {
		t.Errorf("%d lines", n)
	}
}

// A text that differs from the file in its Unicode normal form alone is told apart from one that is missing.
func TestEditInAnotherNormalForm(t *testing.T) {
	id := newIdentity(t, nil)
	id.ok("WRITE_FILE", "path", "menu", "content", "caf\u0065\u0301 noir\n")
	id.fails([]string{"another Unicode normal form"}, "EDIT_FILE", "path", "menu", "old", "caf\u00e9 noir", "new", "tea")
	id.fails([]string{"most similar line"}, "EDIT_FILE", "path", "menu", "old", "cafe noir", "new", "tea")
}

// A directory of the workspace that is called self is not taken for the own files.
func TestSelfInTheWorkspace(t *testing.T) {
	id := newIdentity(t, nil)
	if saw := id.do("WRITE_FILE", "path", "./self/MEMORY.md", "content", "x").Saw; saw.Name != "./self/MEMORY.md" {
		t.Errorf("the log names it %s", saw.Name)
	}
	change, err := id.Restore("./self/MEMORY.md", "y")
	lethetest.Must(t, err)
	change.Do(t.Context(), Call{ID: "e1.1", Name: "WRITE_FILE"})
	if got := lethetest.Read(t, filepath.Join(id.work, "self/MEMORY.md")); got != "y" {
		t.Errorf("it holds %q", got)
	}
	for text, want := range map[string]string{"a [secret 3f9a: jwt, 9 characters]": "secrets were taken out", "x": "more than 1 MB"} {
		id.file("large", strings.Repeat("x", MostKept+1))
		if _, err := id.Restore("large", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A change anywhere in a large file is seen, also at the last moment.
func TestWriteOverLargeFiles(t *testing.T) {
	lethetest.Unraced(t)
	id := newIdentity(t, nil)
	begin := strings.Repeat("a line of text\n", maxEdit/15+2)
	write := func(name string) *Change {
		t.Helper()
		args := fmt.Sprintf(`{"path":%q,"content":"short"}`, name)
		effect, err := id.Intent("WRITE_FILE", []byte(args))
		lethetest.Must(t, err)
		return effect.(*Change)
	}
	path := id.file("large", begin+"one")
	read := id.do("READ_FILE", "path", "large").Saw
	if now := write("large").Was; now.File != read.File {
		t.Errorf("%v was read as %v", now.File, read.File)
	}
	id.file("large", begin+"two")
	change := write("large")
	if change.Was.File == read.File {
		t.Error("the end of the file is not compared")
	}
	id.file("large", begin+"six")
	r := change.Do(t.Context(), Call{ID: "e1.1", Name: "WRITE_FILE"})
	lethetest.Words(t, string(r.Body), "somebody changed it at this moment")
	if lethetest.Read(t, path) != begin+"six" {
		t.Error("the file is overwritten")
	}
	if err := os.Truncate(path, scanBytes+1); err != nil {
		t.Skip("no such file here: ", err)
	}
	id.fails([]string{"write large: refused", "more than 1 GB. Use BASH"}, "WRITE_FILE", "path", "large", "content", "short")
}
