package rooms

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// again is the host as another process has it.
func (r *Rooms) again() *Rooms {
	return &Rooms{Streams: r.Streams, Dir: r.Dir, Host: r.Host, Store: r.Store, Log: r.Log}
}

// opened is the file of a room that a program has open to append to it.
func (r *Rooms) opened(t testing.TB, room string) *os.File {
	t.Helper()
	f, err := os.OpenFile(chat.Path(r.Dir, room), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	lethetest.Must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t testing.TB, f *os.File, text string) {
	t.Helper()
	_, err := f.WriteString(text)
	lethetest.Must(t, err)
}

func (r *Rooms) late(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.Dir, "share", "late", "*"))
	lethetest.Must(t, err)
	return names
}

// What a program appends to a file that was replaced is said: whatever it is, however late, and by a later process. The
// replaced file goes when the program has closed it.
func TestLate(t *testing.T) {
	_, a, b := two(t)
	cmd := exec.Command("sh", "-c", `exec 3>>"$0"; while read -r l; do echo "$l" >&3; echo done; done; printf last >&3`,
		chat.Path(b.Dir, "dev"))
	in, err := cmd.StdinPipe()
	lethetest.Must(t, err)
	out, err := cmd.StdoutPipe()
	lethetest.Must(t, err)
	lethetest.Must(t, cmd.Start())
	done := bufio.NewReader(out)
	say := func(line string) {
		t.Helper()
		_, err := io.WriteString(in, line+"\n")
		lethetest.Must(t, err)
		_, err = done.ReadString('\n')
		lethetest.Must(t, err)
	}
	want := ""
	for n := range 3 {
		a.echo(t, "dev", fmt.Sprintf("a %d\n", n))
		a.sync(t)
		say(fmt.Sprintf("b %d", n))
		b.sync(t) // others were faster: the file is another one now
		want += fmt.Sprintf("a %d\nb %d\n", n, n)
	}
	b.holds(t, "dev", want)
	long := strings.Repeat("x", 3*maxAdded)
	for _, line := range []string{"late", long, strings.Repeat("y", 1000)} {
		say(line)
		want += line + "\n"
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range b.late(t) {
		lethetest.Must(t, os.Chtimes(path, old, old))
	}
	b = b.again()
	b.sync(t)
	b.holds(t, "dev", want)
	lethetest.Must(t, in.Close())
	lethetest.Must(t, cmd.Wait())
	b.sync(t)
	a.sync(t)
	for _, r := range []*Rooms{a, b} {
		r.holds(t, "dev", want+"last\n")
	}
	if left := b.late(t); len(left) > 0 {
		t.Errorf("nobody has them open: %q", left)
	}
}

// killed is what a process dies of.
type killed struct{}

// A room that is a link to a file of several users stays one, also where others were faster.
func TestLinked(t *testing.T) {
	_, a, b := two(t)
	target := filepath.Join(lethetest.Dir(t), "team.md")
	lethetest.Must(t, os.WriteFile(target, nil, 0o600))
	lethetest.Must(t, os.Chmod(target, 0o660))
	lethetest.Must(t, os.Symlink(target, chat.Path(b.Dir, "dev")))
	b.sync(t)
	b.echo(t, "dev", "not whole")
	a.echo(t, "dev", "faster\n")
	a.sync(t)
	b.sync(t)
	b.echo(t, "dev", " yet\n")
	b.sync(t)
	a.sync(t)
	a.holds(t, "dev", "faster\nnot whole yet\n")
	b.holds(t, "dev", "faster\nnot whole yet\n")
	fi, err := os.Lstat(target)
	lethetest.Must(t, err)
	if to, err := os.Readlink(chat.Path(b.Dir, "dev")); err != nil || to != target || fi.Mode() != 0o660 {
		t.Errorf("the room is a link to %q, %v, of mode %v", to, err, fi.Mode())
	}
}

// dies has a process do something and die at a step, before or behind it, and reports whether it came to that.
func dies(step int, do func()) (died bool) {
	durable.Fault = func(durable.Stage, string, string) error {
		if step--; step < 0 {
			panic(killed{})
		}
		return nil
	}
	defer func() {
		durable.Fault = nil
		if p := recover(); p != nil {
			if _, died = p.(killed); !died {
				panic(p)
			}
		}
	}()
	do()
	return false
}

// A host that is killed at any step, before or behind it, or that gets no answer from the store, says each line once: one
// that was appended, one to a file that was replaced, and a post.
func TestKilled(t *testing.T) {
	for step := 0; ; step++ {
		died := false
		for _, lost := range []string{"", "create"} {
			died = killedAt(t, step, lost) || died
		}
		if t.Failed() || !died {
			t.Logf("%d steps", step)
			break
		}
	}
}

func killedAt(t *testing.T, step int, lost string) bool {
	store, a, b := two(t)
	a.echo(t, "dev", "one\n")
	a.sync(t)
	b.sync(t)
	late := b.opened(t, "dev")
	defer late.Close()
	a.echo(t, "dev", "from a\n")
	a.sync(t)
	write(t, late, "pending")
	b.sync(t)
	write(t, late, "late 1\nlate 2\n")
	a.echo(t, "dev", "more from a\n")
	a.sync(t)
	b.echo(t, "dev", " of b\n")
	mark, err := chat.End(Path(b.Dir, "dev"))
	lethetest.Must(t, err)
	post := []byte("[AGENT:ada 2026-11-20T12:57:16Z] hi\n")
	store.Fault = func(op, _ string, _ int) (bool, error) {
		if op == lost {
			lost = ""
			return true, share.ErrAway
		}
		return true, nil
	}
	died := dies(step, func() {
		for range 2 {
			_, _, _ = b.Post(context.Background(), "dev", post, mark)
		}
	})
	store.Fault = nil
	write(t, late, "late 3\n")
	b = b.again()
	_, _, err = b.Post(context.Background(), "dev", post, mark)
	lethetest.Must(t, err)
	lethetest.Must(t, late.Close())
	for range 2 {
		b.sync(t)
		a.sync(t)
	}
	text := lethetest.Read(t, Path(a.Dir, "dev"))
	a.holds(t, "dev", text)
	b.holds(t, "dev", text)
	for _, line := range []string{"one", "from a", "more from a", "pending of b", "late 1", "late 2", "late 3", string(post[:len(post)-1])} {
		if n := strings.Count("\n"+text, "\n"+line+"\n"); n != 1 {
			t.Errorf("killed at %d: %q stands there %d times:\n%s", step, line, n, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 8 || len(b.late(t)) > 0 {
		t.Errorf("killed at %d: %d lines, and there are %q:\n%s", step, n, b.late(t), text)
	}
	return died
}

// What others said is appended once: where the disk fills up in the middle, and where somebody is faster and the process
// is killed then.
func TestAppendedOnce(t *testing.T) {
	for name, fault := range map[string]func(b *Rooms, stage durable.Stage) error{
		"full": func(_ *Rooms, stage durable.Stage) error { return &durable.Short{Bytes: 8, Err: syscall.ENOSPC} },
		"faster": func(b *Rooms, stage durable.Stage) error {
			if stage == durable.After {
				panic(killed{})
			}
			b.echo(t, "dev", "faster\n")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, a, b := two(t)
			a.echo(t, "dev", "one\n")
			a.sync(t)
			b.sync(t)
			a.echo(t, "dev", "two\nthree\nfour\n")
			a.sync(t)
			func() {
				defer func() { durable.Fault, _ = nil, recover() }()
				durable.Fault = func(stage durable.Stage, op, _ string) error {
					if op != "append" {
						return nil
					}
					return fault(b, stage)
				}
				if b.Sync(t.Context()) == nil {
					t.Error("nothing was appended")
				}
			}()
			b = b.again()
			b.sync(t)
			want := "one\ntwo\nthree\nfour\n"
			if name == "faster" {
				want += "faster\n"
			}
			b.holds(t, "dev", want)
		})
	}
}

// Two processes of one host and one of another race: they post, and programs append to files that they have open all the
// time. Each line stands there once.
func TestProcesses(t *testing.T) {
	_, a, b := two(t)
	const each = 30
	var all sync.WaitGroup
	for n, r := range []*Rooms{a, a.again(), b} {
		f := r.opened(t, "dev")
		all.Go(func() {
			for k := range each {
				write(t, f, fmt.Sprintf("%d appends %d\n", n, k))
				_, _, err := r.Post(context.Background(), "dev", fmt.Appendf(nil, "%d posts %d\n", n, k), chat.Mark{})
				if err != nil {
					t.Error(err)
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range 2 {
		a.sync(t)
		b.sync(t)
	}
	text := lethetest.Read(t, Path(a.Dir, "dev"))
	a.holds(t, "dev", text)
	b.holds(t, "dev", text)
	lines := slices.Sorted(strings.Lines(text))
	if len(lines) != 6*each || len(slices.Compact(lines)) != 6*each {
		t.Errorf("%d lines, %d of them other ones", len(lines), len(slices.Compact(lines)))
	}
}
