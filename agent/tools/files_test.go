//go:build unix

package tools

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// Every way out of the workspace that a path or a link can take, for every tool.
func TestNothingEscapes(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Bash = BashOff })
	outside := lethetest.Dir(t)
	lethetest.Write(t, filepath.Join(outside, "secret"), "SECRET outside\n")
	for link, target := range map[string]string{
		"abs":      filepath.Join(outside, "secret"),
		"absdir":   outside,
		"up":       "../MEMORY.md",
		"updir":    "..",
		"chain":    "abs",
		"loop":     "loop",
		"dangling": filepath.Join(outside, "new"),
		"upnew":    "../new",
	} {
		lethetest.Must(t, os.Symlink(target, filepath.Join(id.work, link)))
	}
	for _, path := range []string{
		"../MEMORY.md", "../../other/MEMORY.md", "a/../../MEMORY.md", "..", "../workspace/../MEMORY.md",
		"/etc/passwd", "/", filepath.Join(outside, "secret"), filepath.Join(id.home, "config.toml"),
		filepath.Join(id.dir, "LIFE.md"), filepath.Join(id.work, "../LIFE.md"), id.dir,
		"abs", "absdir/secret", "up", "updir/LIFE.md", "updir/new", "chain", "loop", "dangling", "upnew", "absdir/new",
		"~/x", "~root/x", "self/../config.toml", "self/lock", "self/workspace/x", "self/", "rooms/", "rooms/private.md",
		"a\x00b", "", " ", strings.Repeat("a/", 3000),
	} {
		if files, err := id.Attach(path, "ada"); err == nil && path != "" {
			t.Errorf("%q is attached: %q", path, files)
		}
		for _, call := range [][]any{
			{"READ_FILE", "path", path},
			{"LIST", "path", path},
			{"GLOB", "pattern", "*", "path", cmp.Or(path, " ")}, // without a path they look at the workspace
			{"GREP", "pattern", "SECRET", "path", cmp.Or(path, " ")},
			{"WRITE_FILE", "path", path, "content", "x"},
			{"EDIT_FILE", "path", path, "old", "SECRET", "new", "x"},
		} {
			r := id.do(call[0].(string), call[1:]...)
			body := string(r.Body)
			if call[0] == "LIST" && !r.Err && (strings.Contains(body, " -> ") || strings.HasPrefix(body, "[self:") ||
				strings.HasPrefix(body, "[rooms:")) {
				continue // a link is shown as one; self/ and rooms/ are lists of ours
			}
			if !r.Err || strings.Contains(body, "SECRET") {
				t.Errorf("%v: %s", call, body)
			}
		}
	}
	for _, p := range []string{filepath.Join(outside, "new"), filepath.Join(id.dir, "new"), filepath.Join(id.dir, "lock")} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s was made", p)
		}
	}
	for p, want := range map[string]string{
		filepath.Join(outside, "secret"): "SECRET outside\n", filepath.Join(id.dir, "MEMORY.md"): "memory\n",
		filepath.Join(id.dir, "LIFE.md"): "life\n",
	} {
		lethetest.Holds(t, p, want)
	}
}

func TestAbsolutePathsInside(t *testing.T) {
	extra := lethetest.Dir(t)
	link := filepath.Join(lethetest.Dir(t), "link")
	lethetest.Must(t, os.Symlink(extra, link))
	id := newIdentity(t, func(c *Config) { c.ExtraRoots = []string{extra} })
	id.ok("WRITE_FILE", "path", filepath.Join(id.work, "f"), "content", "one\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "f"), "one\n")
	id.ok("WRITE_FILE", "path", filepath.Join(extra, "d/f"), "content", "two\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", filepath.Join(link, "d/f")), "two\n")
	lethetest.Words(t, id.ok("LIST", "path", extra), "d/\n")
	id.fails([]string{"or under " + extra}, "READ_FILE", "path", "/etc/passwd")
}

func TestLinksInsideAreRead(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("sub/real", "text\n")
	for link, target := range map[string]string{"a": "b", "b": "sub/real", "dir": "sub", "sub/back": "../sub/real"} {
		lethetest.Must(t, os.Symlink(target, filepath.Join(id.work, link)))
	}
	for _, path := range []string{"a", "dir/real", "dir/back"} {
		lethetest.Words(t, id.ok("READ_FILE", "path", path), "text\n")
	}
	id.ok("EDIT_FILE", "path", "dir/real", "old", "text", "new", "changed")
	lethetest.Holds(t, filepath.Join(id.work, "sub/real"), "changed\n")
	id.fails([]string{`symbolic link to "b"`}, "WRITE_FILE", "path", "a", "content", "x")
	id.fails([]string{`symbolic link to "../sub/real"`}, "EDIT_FILE", "path", "dir/back", "old", "changed", "new", "x")
}

// A workspace inside an extra root can be replaced by a link by whoever may
// write to that root, which commands may.
func TestWorkspaceReplacedByLink(t *testing.T) {
	extra := lethetest.Dir(t)
	id := newIdentity(t, func(c *Config) {
		c.ExtraRoots, c.Workspace = []string{extra}, filepath.Join(extra, "ws")
	})
	id.ok("WRITE_FILE", "path", "f", "content", "x")
	lethetest.Must(t, os.Rename(id.work, id.work+"-gone"))
	lethetest.Must(t, os.Symlink(id.home, id.work))
	id.fails([]string{"refused"}, "READ_FILE", "path", "config.toml")
	id.fails([]string{"refused"}, "WRITE_FILE", "path", "config.toml", "content", "x")
	r := id.do("BASH", "command", "cat config.toml; cat "+id.home+"/config.toml; echo x > "+id.home+"/x")
	if strings.Contains(string(r.Body), "SECRET") || !r.Err {
		t.Errorf("the command got out: %s", r.Body)
	}
}

func TestSpecialFilesAreRefusedAtOnce(t *testing.T) {
	id := newIdentity(t, nil)
	t.Chdir(id.work) // the name of a socket is short
	lethetest.Must(t, syscall.Mkfifo("fifo", 0o600))
	l, err := net.Listen("unix", "socket")
	lethetest.Must(t, err)
	defer l.Close()
	special := map[string]string{"fifo": "p", "socket": "S"}
	if err := syscall.Mknod("device", syscall.S_IFCHR|0o600, 1<<8|5); err == nil { // only for root
		special["device"] = "Dc"
	}
	lethetest.Must(t, os.Mkdir("dir", 0o700))
	special["dir"] = "directory"
	for name, kind := range special {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for _, call := range [][]any{
			{"READ_FILE", "path", name},
			{"WRITE_FILE", "path", name, "content", "x"},
			{"EDIT_FILE", "path", name, "old", "x", "new", "y"},
		} {
			r := id.doCtx(ctx, call[0].(string), call[1:]...)
			if !r.Err || !strings.Contains(string(r.Body), kind) && !strings.Contains(string(r.Body), "no such device") || ctx.Err() != nil {
				t.Errorf("%v: %s", call, r.Body)
			}
		}
		cancel()
	}
	lethetest.Words(t, id.ok("LIST", "path", "."), "dir/\n", "fifo  (prw-------)\n", "socket  (S")
	id.fails([]string{"not a directory"}, "LIST", "path", "fifo/x")
}

// A link is put in the place of a file, and of a directory, again and again
// while tools use them.
func TestLinksSwappedAfterTheCheck(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.Bash = BashOff })
	outside := lethetest.Dir(t)
	lethetest.Write(t, filepath.Join(outside, "f"), "SECRET\n")
	id.file("d/f", "inside\n")
	id.file("d2/f", "inside\n")
	at := func(name string) string { return filepath.Join(id.work, name) }
	lethetest.Must(t, os.Symlink(outside, at("evildir")))
	lethetest.Must(t, os.Symlink(filepath.Join(outside, "f"), at("evil")))
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flip := func(a, b, spare string) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(a, spare)
			_ = os.Rename(b, a)
			_ = os.Rename(a, b)
			_ = os.Rename(spare, a)
		}
	}
	flipping.Go(func() { flip(at("d"), at("evildir"), at("s1")) })
	flipping.Go(func() { flip(at("d2/f"), at("evil"), at("s2")) })
	reads, writes := 0, 0
	began := time.Now() // a slow disk gets more time than a fast one needs
	for took := time.Duration(0); took < 500*time.Millisecond || (reads == 0 || writes == 0) && took < time.Minute; took = time.Since(began) {
		for _, path := range []string{"d/f", "d2/f"} {
			r := id.do("READ_FILE", "path", path)
			if strings.Contains(string(r.Body), "SECRET") {
				t.Fatalf("read %s: %s", path, r.Body)
			}
			if !r.Err {
				reads++
			}
			if r := id.do("WRITE_FILE", "path", path, "content", "inside\n"); !r.Err {
				writes++
			}
		}
	}
	close(stop)
	flipping.Wait()
	lethetest.Holds(t, filepath.Join(outside, "f"), "SECRET\n")
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("files made outside: %v", entries)
	}
	if reads == 0 || writes == 0 {
		t.Errorf("%d reads and %d writes succeeded: nothing was raced", reads, writes)
	}
}

func TestMissingFileNamesTheNearest(t *testing.T) {
	id := newIdentity(t, nil)
	id.file("src/handler.go", "x")
	id.file("src/main.go", "x")
	id.fails([]string{"no such file", `"handler.go"`}, "READ_FILE", "path", "src/handlers.go")
	id.fails([]string{"no such file", `LIST`}, "READ_FILE", "path", "lib/x/handlers.go")
	id.fails([]string{"no such file"}, "EDIT_FILE", "path", "src/x", "old", "a", "new", "b")
	id.fails([]string{"no such file", `"src"`}, "LIST", "path", "srcs")
	id.fails([]string{"not been written yet"}, "READ_FILE", "path", "self/SEGMENT.md")
	id.fails([]string{"self/MEMORY.md", "./self"}, "READ_FILE", "path", "self/memories.md")
}
