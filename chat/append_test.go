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
	"lethe/internal/test/lethetest"
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
	lethetest.Must(t, syscall.Mkfifo(fifo, 0o600))
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

func TestPost(t *testing.T) {
	const text = "done \x1b[2J\u0085\u202e\x7f"
	formatted, err := Format(true, "lethe", time.Date(2026, 11, 20, 12, 57, 16, 0, time.UTC), text)
	lethetest.Must(t, err)
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
		"part of another":     {"a\n", "a\nx" + line, "a\nx" + line + line},
		"crlf":                {"a\n", "a\n" + line[:len(line)-1] + "\r\n", "a\n" + line[:len(line)-1] + "\r\n"},
		"cut and said":        {"a long line that an editor cuts " + line, "cut\n" + line, "cut\n" + line},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dev.md")
			if tt.before != "" {
				write(t, path, tt.before)
			}
			end, err := End(path)
			lethetest.Must(t, err)
			if tt.after != tt.before {
				write(t, path, tt.after) // the same inode
			}
			for range 2 { // paying a debt twice is paying it once
				from, to, err := Post(path, []byte(line), end)
				lethetest.Must(t, err)
				got, _ := os.ReadFile(path)
				if string(got) != tt.want {
					t.Fatalf("the room is %q, want %q", got, tt.want)
				}
				if said := strings.ReplaceAll(string(got[from:to]), "\r\n", "\n"); said != line && said != raw {
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
	lethetest.Must(t, os.Symlink(filepath.Join(away, "there.md"), Path(home, "linked")))
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
		_, _, err := Post(Path(home, room), []byte("mine\n"), Mark{})
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
	lethetest.Must(t, errors.Join(os.Mkdir(Dir(home), 0o700), os.Symlink(secret, path), os.Lchown(path, 65534, 65534)))
	for name, do := range map[string]func() error{
		"Read":   func() error { _, err := Read(path, Cursor{}, 0); return err },
		"Tail":   func() error { _, _, _, err := Tail(path, 20); return err },
		"At":     func() error { _, err := At(path, 0); return err },
		"End":    func() error { _, err := End(path); return err },
		"Append": func() error { _, _, err := Append(path, []byte("x\n")); return err },
		"Post":   func() error { _, _, err := Post(path, []byte("key\n"), Mark{}); return err },
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
				end, _ := End(path)
				if _, _, err := Post(path, []byte("mine\n"), end); !errors.Is(err, syscall.EIO) {
					t.Fatalf("the fault gave %v", err)
				}
				if _, _, err := Post(path, []byte("mine\n"), end); err != nil {
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
	each := lethetest.Sample(1000, 1000, 10_000)
	path := filepath.Join(t.TempDir(), "dev.md")
	text := func(w, i int) string { return fmt.Sprintf("w%d %d %s", w, i, strings.Repeat("x", i*7%301)) }

	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			var err error
			if w == 1 { // a foreign program
				err = exec.Command("sh", "-c", fmt.Sprintf(
					`i=0; while [ $i -lt %d ]; do echo "w1 $i " >> "$0"; i=$((i+1)); done`, each), path).Run()
			} else {
				err = appendLines(path, w, each, text)
			}
			if err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()

	next, at := make([]int, writers), int64(0)
	c := Cursor{}
	for finished := false; ; {
		b, err := Read(path, c, 64<<10)
		if err != nil || b.Realigned || b.Restarted {
			t.Fatalf("a file that only grew: %+v, %v", b.Next, err)
		}
		for _, l := range b.Lines {
			var w, i int
			_, err := fmt.Sscanf(l.Text, "w%d %d", &w, &i)
			if err != nil || l.Text != text(w, i) && w != 1 || i != next[w] || l.From < at {
				t.Fatalf("%q at %d, heard after %d and line %d of writer %d, %v", l.Text, l.From, at, next[w], w, err)
			}
			next[w], at = i+1, l.To
		}
		c = b.Next
		if len(b.Lines) > 0 {
			continue
		}
		if finished {
			break
		}
		select {
		case <-done:
			finished = true
		default:
		}
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: heard %d lines", w, n)
		}
	}
}

// appendLines writes like any process that follows the page. Writer 0 uses Append for every fifth
// line (an fsync takes its time), and checks that the range is that of the line.
func appendLines(path string, w, n int, text func(w, i int) string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range n {
		line := []byte(text(w, i) + "\n")
		if w != 0 || i%5 != 0 {
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
