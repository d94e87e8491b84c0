package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

func noBash(c *Config) { c.Bash = BashOff }

// GLOB and GREP are offered where commands are not, and where a list of tools names them.
func TestSearchToolsAreOffered(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   bool
	}{
		{noBash, true},
		{func(c *Config) { c.Bash = BashTrusted }, false},
		{func(c *Config) { c.Bash, c.Only = BashTrusted, []string{"READ_FILE"} }, false},
		{func(c *Config) { c.Bash, c.Only = BashTrusted, []string{"READ_FILE", "GLOB", "GREP"} }, true},
	} {
		if id := newIdentity(t, c.change); id.Has("GLOB") != c.want || id.Has("GREP") != c.want {
			t.Errorf("%v, want %v", id.Names(), c.want)
		}
	}
}

// A glob means what it means elsewhere, the newest files come first, and what is not shown is counted.
func TestGlob(t *testing.T) {
	extra := lethetest.Dir(t)
	id := newIdentity(t, func(c *Config) { c.Bash, c.ExtraRoots = BashOff, []string{extra} })
	now := time.Now()
	for i, name := range []string{"a.go", "src/b.go", "src/deep/er/c.go", "src/x.ts", "src/y.tsx", ".github/w.yml",
		".git/config.go", "we (i)rd+$.txt"} {
		lethetest.Must(t, os.Chtimes(id.file(name, "text"), now, now.Add(time.Duration(i)*time.Second)))
	}
	lethetest.Write(t, filepath.Join(extra, "d.go"), "")
	lethetest.Must(t, os.Symlink(extra, filepath.Join(id.work, "link")))
	for _, c := range []struct{ pattern, path, want string }{
		{"**/*.go", "", "src/deep/er/c.go src/b.go a.go"},
		{"*.go", ".", "src/deep/er/c.go src/b.go a.go"}, // a name
		{"src/*.go", "", "src/b.go"},
		{"src/**", "", "src/y.tsx src/x.ts src/deep/er/c.go src/b.go"},
		{"src/**/*.go", "./", "src/deep/er/c.go src/b.go"},
		{"**/?.go", "src/deep", "src/deep/er/c.go"},
		{"src/*.{ts,tsx}", "", "src/y.tsx src/x.ts"},
		{"we (i)rd+$.txt", "", "we (i)rd+$.txt"},
		{"*.yml", "", ".github/w.yml"},
		{"*.go", extra, filepath.Join(extra, "d.go")},
		{"*.rs", "", ""},
	} {
		var names []string
		if c.want != "" {
			names = strings.SplitAfter(strings.ReplaceAll(c.want, " ", "\n"), "\n")
		}
		if c.pattern == "we (i)rd+$.txt" {
			names = []string{c.pattern}
		}
		want := fmt.Sprintf("[%d files, the newest first; not shown: 0; not searched, since not text, too large or not "+
			"readable: 0]\n", len(names))
		if want += strings.Join(names, ""); len(names) > 0 {
			want += "\n"
		}
		id.gives(want, "GLOB", "pattern", c.pattern, "path", c.path)
	}
	id.fails([]string{"error parsing regexp"}, "GLOB", "pattern", "{a")
	id.fails([]string{"no such file", "LIST"}, "GLOB", "pattern", "*", "path", "nowhere")
	for i := range 300 {
		id.file(fmt.Sprintf("many/%03d", i), "")
	}
	id.file("many/forged\n[1 files", "")
	got := id.ok("GLOB", "pattern", "**", "path", "many")
	lethetest.Words(t, got, "[301 files, the newest first; not shown: 101;", `many/forged\n[1 files"`)
	if n := strings.Count(got, "\n"); n != 201 {
		t.Errorf("%d lines", n)
	}
}

// GREP shows where text stands, bounded in lines and in each line, and counts what it has left out.
func TestGrep(t *testing.T) {
	id := newIdentity(t, noBash)
	id.file("a.go", "package a\nfunc Find() {}\r\n")
	id.file("sub/b.txt", strings.Repeat("x", 1000)+"find\n")
	id.file("sub/binary", "find\x00")
	id.file(".git/index", "find")
	big, err := os.Create(filepath.Join(id.work, "big"))
	lethetest.Must(t, err)
	lethetest.Must(t, big.Truncate(grepFile+1))
	lethetest.Must(t, big.Close())
	const head = "[%d lines; not shown: %d; not searched, since not text, too large or not readable: %d]\n"
	id.gives(fmt.Sprintf(head, 2, 0, 2)+"a.go:2: func Find() {}\r\nsub/b.txt:1: "+strings.Repeat("x", 300)+
		"…[line 1 goes on for 704 bytes: offset 1, column 301]\n",
		"GREP", "pattern", "(?i)find")
	id.gives(fmt.Sprintf(head, 1, 0, 0)+"a.go:2: func Find() {}\r\n", "GREP", "pattern", `\{}$`, "glob", "*.go")
	id.gives(fmt.Sprintf(head, 1, 0, 0)+"a.go:1: package a\n", "GREP", "pattern", "^package", "path", "a.go")
	id.gives(fmt.Sprintf(head, 0, 0, 1), "GREP", "pattern", "find", "path", "sub/binary")
	id.fails([]string{"error parsing regexp", "missing closing )"}, "GREP", "pattern", "(")
	id.file("many", strings.Repeat("line\n", 1000))
	if got := id.ok("GREP", "pattern", "^line$"); strings.Count(got, "\n") != 201 {
		t.Error(got)
	} else {
		lethetest.Words(t, got, "[1000 lines; not shown: 800;", "many:200: line\n")
	}
	id.rooms.in = []string{"dev"}
	lethetest.Words(t, id.ok("GREP", "pattern", "hello", "path", "rooms/dev.md"), "rooms/dev.md:1: [USER:ann")
	lethetest.Words(t, id.ok("GREP", "pattern", "life", "path", "self/LIFE.md"), "self/LIFE.md:1: life\n")
}

// Of a search that has failed no file is read: the model is told the error alone.
func TestFailedSearchReadsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a hundred thousand files")
	}
	id := newIdentity(t, noBash)
	id.file("0/0", "find\n")
	for i := 1; i <= listRead; i++ { // links cost less than files
		dir := filepath.Join(id.work, fmt.Sprint(i%4))
		if i < 4 {
			lethetest.Must(t, os.Mkdir(dir, 0o700))
			lethetest.Write(t, filepath.Join(dir, "0"), "find\n")
			continue
		}
		lethetest.Must(t, os.Link(filepath.Join(dir, "0"), filepath.Join(dir, fmt.Sprint(i))))
	}
	got, err := id.grep(t.Context(), Call{}, grepArgs{Pattern: "find"})
	if err == nil || len(got.Body) > 0 {
		t.Errorf("%v: %.100s", err, got.Body)
	}
}

// Neither reaches a file that READ_FILE does not, and both end with their context.
func TestSearchStaysInside(t *testing.T) {
	id := newIdentity(t, noBash)
	outside := lethetest.Dir(t)
	lethetest.Write(t, filepath.Join(outside, "secret"), "SECRET")
	id.file("rooms/private.md", "not a room\n")
	for link, to := range map[string]string{"dir": outside, "file": filepath.Join(outside, "secret"), "up": "..",
		"rooms/link": "../../LIFE.md"} {
		lethetest.Must(t, os.Symlink(to, filepath.Join(id.work, link)))
	}
	if got := id.ok("GLOB", "pattern", "**"); strings.Count(got, "\n") != 2 || !strings.Contains(got, "rooms/private.md") {
		t.Error(got)
	}
	if got := id.ok("GREP", "pattern", "."); strings.Count(got, "\n") != 2 || !strings.Contains(got, "not a room") {
		t.Error(got)
	}
	files, _, err := id.below(t.Context(), "", "*")
	lethetest.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := id.below(ctx, "", "*"); err == nil {
		t.Error("a walk goes on behind its context")
	}
	lethetest.Must(t, os.Remove(filepath.Join(id.work, "rooms/private.md"))) // a link takes its place
	lethetest.Must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(id.work, "rooms/private.md")))
	var lines []string
	for _, f := range files {
		f.grep(t.Context(), regexp.MustCompile("."), &lines)
	}
	if len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}
