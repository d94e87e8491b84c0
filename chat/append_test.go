package chat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/internal/durable"
)

func TestAppend(t *testing.T) {
	home := t.TempDir()
	path := Path(home, "dev")
	from, to, err := Append(path, []byte("one\n"))
	if err != nil || from != 0 || to != 4 {
		t.Fatalf("first Append = %d, %d, %v", from, to, err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, Dir(home): os.ModeDir | 0o700} {
		if fi, err := os.Stat(name); err != nil || fi.Mode() != want {
			t.Errorf("%s has mode %v, %v; want %v", name, fi.Mode(), err, want)
		}
	}
	echo(t, path, "torn")
	from, to, err = Append(path, []byte("two\n"))
	if err != nil || from != 9 || to != 13 {
		t.Fatalf("Append after a torn line = %d, %d, %v", from, to, err)
	}
	if got, _ := os.ReadFile(path); string(got) != "one\ntorn\ntwo\n" {
		t.Fatalf("the room is %q", got)
	}
}

func TestAppendRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dev.md")
	for _, line := range []string{"", "no newline", "two\nlines\n", "\n\n"} {
		if _, _, err := Append(path, []byte(line)); err == nil {
			t.Errorf("Append accepts %q", line)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused line made the file")
	}
	fifo := filepath.Join(dir, "fifo.md")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// None of these may block.
	if _, _, err := Append(fifo, []byte("x\n")); err == nil {
		t.Error("Append writes to a FIFO")
	}
	if _, err := Read(fifo, Cursor{}, 0); err == nil {
		t.Error("Read reads a FIFO")
	}
	if _, err := Read(dir, Cursor{}, 0); err == nil {
		t.Error("Read reads a directory")
	}
}

func TestFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dev.md")
	write(t, path, "one\ntwo\r\none\nlong one\nthree")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tests := []struct {
		line string
		from int64
		at   int64 // -1: not found
	}{
		{"one\n", 0, 0}, {"one", 0, 0}, {"one\n", 1, 9}, {"one\n", 4, 9}, {"one\n", 9, 9}, {"one\n", 10, -1},
		{"two\n", 0, 4}, {"two\n", 4, 4}, {"two\n", 5, -1}, {"on\n", 0, -1}, {"ne\n", 1, -1},
		{"three\n", 0, -1}, {"three\n", 22, -1}, {"one\n", 27, -1}, {"one\n", 1000, 0}, {"one\n", -5, 0},
	}
	for _, tt := range tests {
		at, _, found, whole, err := find(f, []byte(tt.line), tt.from)
		found = found && whole
		if err != nil || found != (tt.at >= 0) || found && at != tt.at {
			t.Errorf("find(%q, %d) = %d, %v, %v; want %d", tt.line, tt.from, at, found, err, tt.at)
		}
	}
}

func TestPost(t *testing.T) {
	const text = "done \x1b[2J\u0085\u202e\x7f"
	formatted, err := Format(true, "lethe", time.Date(2026, 11, 20, 12, 57, 16, 0, time.UTC), text)
	if err != nil {
		t.Fatal(err)
	}
	line := string(formatted)
	const raw = "[AGENT:lethe 2026-11-20T12:57:16Z] " + text + "\n" // as programs before wrote it
	tests := map[string]struct{ before, after, want string }{       // after: what the room is when posting is tried again
		"never tried":         {"a\n", "a\n", "a\n" + line},
		"missing":             {"", "", line},
		"done":                {"a\n", "a\n" + line + "b\n", "a\n" + line + "b\n"},
		"torn":                {"a\n", "a\n[AGENT:le", "a\n[AGENT:le\n" + line},
		"torn, then others":   {"a\n", "a\n[AGENT:le\nb\n", "a\n[AGENT:le\nb\n" + line},
		"newline missing":     {"a\n", "a\n" + line[:len(line)-1], "a\n" + line + "\n"},
		"first, same":         {"", line[:len(line)-1], line + "\n"},
		"after a torn line":   {"a", "a\n" + line, "a\n" + line},
		"said before, not it": {"a\n" + line, "a\n" + line, "a\n" + line + line},
		"done as it is":       {"a\n", "a\n" + raw + "b\n", "a\n" + raw + "b\n"},
		"torn as it is":       {"a\n", "a\n" + raw[:len(raw)-1], "a\n" + raw + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dev.md")
			if tt.before != "" {
				write(t, path, tt.before)
			}
			inode, size, err := End(path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.after != tt.before {
				write(t, path, tt.after) // the same inode
			}
			for range 2 { // paying a debt twice is paying it once
				from, to, err := Post(path, []byte(line), inode, size)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := os.ReadFile(path)
				if string(got) != tt.want {
					t.Fatalf("the room is %q, want %q", got, tt.want)
				}
				if said := string(got[from:to]); said != line && said != raw {
					t.Fatalf("bytes %d..%d are %q", from, to, got[from:to])
				}
			}
		})
	}
}

// A line that an earlier attempt left in the room is made durable before Post says
// that it is there: its bytes, and the name of the file that the room really is.
func TestPostSyncsWhatItFinds(t *testing.T) {
	home, away := t.TempDir(), t.TempDir()
	write(t, Path(home, "dev"), "mine\n")
	write(t, filepath.Join(away, "there.md"), "mine\n")
	if err := os.Symlink(filepath.Join(away, "there.md"), Path(home, "linked")); err != nil {
		t.Fatal(err)
	}
	for room, want := range map[string]string{
		"dev":    "sync " + Path(home, "dev") + ", syncdir " + Dir(home),
		"linked": "sync " + filepath.Join(away, "there.md") + ", syncdir " + away,
	} {
		var steps []string
		durable.Fault = func(stage durable.Stage, op, path string) error {
			if stage == durable.After {
				steps = append(steps, op+" "+path)
			}
			return nil
		}
		_, _, err := Post(Path(home, room), []byte("mine\n"), 0, 0)
		durable.Fault = nil
		if got := strings.Join(steps, ", "); err != nil || got != want {
			t.Errorf("%s: %v, took the steps %q, want %q", room, err, got, want)
		}
	}
}

// A room that is a link of another user is neither read nor written.
func TestLinkOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a link of another user")
	}
	home, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	write(t, secret, "key\n")
	path := Path(home, "dev")
	if err := errors.Join(os.Mkdir(Dir(home), 0o700), os.Symlink(secret, path), os.Lchown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"Read":   func() error { _, err := Read(path, Cursor{}, 0); return err },
		"Tail":   func() error { _, _, _, err := Tail(path, 20); return err },
		"At":     func() error { _, err := At(path, 0); return err },
		"End":    func() error { _, _, err := End(path); return err },
		"Append": func() error { _, _, err := Append(path, []byte("x\n")); return err },
		"Post":   func() error { _, _, err := Post(path, []byte("key\n"), 0, 0); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "another user made this link") {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if got, _ := os.ReadFile(secret); string(got) != "key\n" {
		t.Errorf("the file that the link leads to holds %q", got)
	}
	subs := filepath.Join(home, "subs")
	if err := errors.Join(os.Remove(secret), Subscribe(subs, Dir(home), "dev")); err == nil {
		t.Error("Subscribe makes a file through the link")
	}
}

// The room was saved by an editor between intent and post: it is searched whole.
func TestPostReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dev.md")
	write(t, path, "a long line that is going to be cut\n")
	inode, size, _ := End(path)
	save(t, path, "cut\nmine\n")
	if _, _, err := Post(path, []byte("mine\n"), inode, size); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "cut\nmine\n" {
		t.Fatalf("the room is %q", got)
	}
}

// Each step of an append fails, once lost and once persisted; trying again
// leaves the line there once.
func TestPostFaults(t *testing.T) {
	for _, op := range []string{"mkdir", "append", "sync", "syncdir"} {
		for _, stage := range []durable.Stage{durable.Before, durable.After} {
			t.Run(op+" "+string(stage), func(t *testing.T) {
				path := Path(t.TempDir(), "dev")
				failed := false
				durable.Fault = func(s durable.Stage, o, _ string) error {
					if failed || s != stage || o != op {
						return nil
					}
					failed = true
					return syscall.EIO
				}
				defer func() { durable.Fault = nil }()
				inode, size, _ := End(path)
				if _, _, err := Post(path, []byte("mine\n"), inode, size); !errors.Is(err, syscall.EIO) {
					t.Fatalf("the fault gave %v", err)
				}
				if _, _, err := Post(path, []byte("mine\n"), inode, size); err != nil {
					t.Fatal(err)
				}
				if got, _ := os.ReadFile(path); string(got) != "mine\n" {
					t.Fatalf("the room is %q", got)
				}
			})
		}
	}
}

// Eight writers of three kinds, each with very many lines, and a reader: every
// line is heard once, whole and in file order. With LETHE_LONG=1 they are ten thousand.
func TestEightWriters(t *testing.T) {
	t.Parallel()
	const writers = 8
	each := 1000
	if os.Getenv("LETHE_LONG") != "" {
		each = 10_000
	}
	path := filepath.Join(t.TempDir(), "dev.md")
	text := func(w, i int) string { return fmt.Sprintf("w%d %d %s", w, i, strings.Repeat("x", i*7%301)) }

	var wg sync.WaitGroup
	fail := make(chan error, writers)
	for w := range writers {
		wg.Go(func() {
			var err error
			switch {
			case w == 0: // some of them durable
				err = appendLines(path, w, each, text)
			case w == 1: // a foreign program
				err = exec.Command("sh", "-c", fmt.Sprintf(
					`i=0; while [ $i -lt %d ]; do echo "w1 $i sh" >> "$0"; i=$((i+1)); done`, each), path).Run()
			default: // any process that follows the page
				err = rawLines(path, w, each, text)
			}
			if err != nil {
				fail <- fmt.Errorf("writer %d: %w", w, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()

	var heard []Line
	c, batches, finished := Cursor{}, 0, false
	for {
		b, err := Read(path, c, 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		if b.Realigned || b.Restarted {
			t.Fatalf("batch %d realigned a file that only grew", batches)
		}
		heard, c = append(heard, b.Lines...), b.Next
		batches++
		if len(b.Lines) == 0 {
			if finished {
				break
			}
			select {
			case <-done:
				finished = true
			default:
			}
		}
	}
	select {
	case err := <-fail:
		t.Fatal(err)
	default:
	}
	next := make([]int, writers)
	var at int64
	for _, l := range heard {
		var w, i int
		if _, err := fmt.Sscanf(l.Text, "w%d %d", &w, &i); err != nil {
			t.Fatalf("a line that nobody wrote: %q", l.Text)
		}
		if want := text(w, i); l.Text != want && w != 1 {
			t.Fatalf("writer %d: %q, want %q", w, l.Text, want)
		}
		if i != next[w] {
			t.Fatalf("writer %d: line %d, want %d", w, i, next[w])
		}
		if l.From < at {
			t.Fatalf("line at %d heard after %d", l.From, at)
		}
		next[w], at = i+1, l.To
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: heard %d lines", w, n)
		}
	}
}

// appendLines uses Append for every fifth line (an fsync takes its time), and
// checks that the range is that of the line.
func appendLines(path string, w, n int, text func(w, i int) string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range n {
		line := []byte(text(w, i) + "\n")
		if i%5 != 0 {
			if _, err := f.Write(line); err != nil {
				return err
			}
			continue
		}
		from, to, err := Append(path, line)
		if err != nil {
			return err
		}
		got := make([]byte, to-from)
		if _, err := f.ReadAt(got, from); err != nil || !bytes.Equal(got, line) {
			return fmt.Errorf("bytes %d..%d are %q, not %q (%v)", from, to, got, line, err)
		}
	}
	return nil
}

func rawLines(path string, w, n int, text func(w, i int) string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range n {
		if _, err := f.WriteString(text(w, i) + "\n"); err != nil {
			return err
		}
	}
	return nil
}
