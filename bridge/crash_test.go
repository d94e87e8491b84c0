package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
)

// fuse is a disk that fails at the n-th step from now, before or after it, once
// or from then on. It may leave half a record behind.
type fuse struct {
	left    int // steps; 0: none fails
	when    durable.Stage
	forever bool // the process is as good as dead
	torn    bool
	blown   bool
}

func (f *fuse) burn(stage durable.Stage, op, path string) error {
	if f.blown && f.forever {
		return errDisk
	}
	if f.left == 0 || stage != f.when {
		return nil
	}
	if f.left--; f.left > 0 {
		return nil
	}
	f.blown = true
	if f.torn && op == "append" && stage == durable.Before {
		if h, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = h.WriteString("[USER:ad") // torn in a room, and no JSON in the inbox
			h.Close()
		}
	}
	return errDisk
}

func drawFuse(t *rapid.T, most int) *fuse {
	return &fuse{
		left:    rapid.IntRange(1, most).Draw(t, "fails at"),
		when:    rapid.SampledFrom([]durable.Stage{durable.Before, durable.After}).Draw(t, "when"),
		forever: rapid.Bool().Draw(t, "crash"),
		torn:    rapid.Bool().Draw(t, "torn"),
	}
}

// bubbled hides the Deadline of a T, which may not be asked for in a bubble.
type bubbled struct{ testing.TB }

// server is the other side: it repeats what was not acknowledged, and sometimes
// what was.
type server struct {
	msgs  []Message
	acked int
}

func drawServer(t *rapid.T) *server {
	s := &server{}
	at := noon
	for i := range rapid.IntRange(1, 40).Draw(t, "messages") {
		user := rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "user")
		m := message(fmt.Sprint("id", i), user, rapid.SampledFrom([]string{"ok", fmt.Sprint("line ", i),
			fmt.Sprint("two\nlines ", i)}).Draw(t, "text"))
		m.Room = rapid.SampledFrom([]string{"dev", "ops"}).Draw(t, "room")
		at = at.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "gap")) * time.Second)
		m.At = at
		s.msgs = append(s.msgs, m)
	}
	return s
}

func (s *server) next(t *rapid.T) (place string, batch []Message) {
	from := max(0, s.acked-rapid.IntRange(0, 3).Draw(t, "repeated"))
	to := min(len(s.msgs), s.acked+rapid.IntRange(1, 8).Draw(t, "batch"))
	return fmt.Sprint(to), s.msgs[from:to]
}

// Whatever fails, or dies, and whenever: each message is in its room once, and
// those of a user in a room are in order.
func TestInwardProperty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { durable.Fault = nil }()
		rapid.Check(bubbled{t}, func(r *rapid.T) {
			home, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				r.Fatal(err)
			}
			s := drawServer(r)
			reopen := func() *Bridge { return start(t, home) }
			b := reopen()
			durable.Fault = nil
			for s.acked < len(s.msgs) {
				f := &fuse{}
				if rapid.Bool().Draw(r, "trouble") {
					f = drawFuse(r, 25)
				}
				durable.Fault = f.burn
				for range rapid.IntRange(1, 4).Draw(r, "steps") {
					if rapid.Bool().Draw(r, "time passes") {
						b.retry()
						continue
					}
					place, batch := s.next(r)
					err := b.Accept(batch...)
					if dead := f.blown && f.forever; err == nil && !dead {
						fmt.Sscan(place, &s.acked)
					}
				}
				durable.Fault = nil
				if f.blown && f.forever || rapid.IntRange(0, 9).Draw(r, "killed") == 0 {
					b.abandon()
					b = reopen()
				}
			}
			b.retry()
			if n := len(b.inbox.waiting); n > 0 {
				r.Fatalf("%d messages wait for rooms that can be written", n)
			}
			b.abandon()
			s.check(r, t, home)
		})
	})
}

// check compares the rooms with what was sent.
func (s *server) check(r *rapid.T, t *testing.T, home string) {
	if damaged, _ := filepath.Glob(inState(home, "inbox.jsonl.damaged-*")); len(damaged) > 0 {
		r.Fatalf("a crash or a failed write looks like damage: %v", damaged)
	}
	for _, room := range []string{"dev", "ops"} {
		want, got := map[string][]string{}, map[string][]string{}
		for _, m := range s.msgs {
			if m.Room == room {
				want[m.User] = append(want[m.User], m.Text)
			}
		}
		for _, l := range lines(t, home, room) {
			if l.Tagged {
				got[l.Name] = append(got[l.Name], l.Text)
			} else if !strings.HasPrefix(l.Text, "[USER:ad") { // the torn ones
				r.Fatalf("room %s has the line %q", room, l.Raw)
			}
		}
		for _, user := range []string{"ada", "bob"} {
			if !slices.Equal(got[user], want[user]) {
				r.Fatalf("%s said in %s:\n%q\nin the room is:\n%q", user, room, want[user], got[user])
			}
		}
	}
}

// Each write of a Deliver fails in turn, and the process goes on or dies: parts
// are sent in order, and twice only after a death between Send and its mark.
func TestBrokenWritesOutward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { durable.Fault = nil }()
		for n := 1; ; n++ {
			for _, when := range []durable.Stage{durable.Before, durable.After} {
				for _, crash := range []bool{false, true} {
					b := open(t)
					b.accept(message("1", "ada", "question"))
					b.agentSays("a\nb")
					b.agentSays("c")
					s, f := &script{}, &fuse{left: n, when: when, forever: crash}
					durable.Fault = f.burn
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					lethetest.Must(t, b.Deliver(ctx, ada, s))
					cancel()
					durable.Fault = nil
					got := s.got()
					if crash {
						b.again()
						b.catchUp(ada, s)
						got = slices.Compact(s.got())
					}
					equal(t, fmt.Sprintf("write %d %s, crash %v", n, when, crash), got, "a", "b", "c")
					if len(s.got()) > 4 {
						t.Fatalf("write %d %s: sent %q", n, when, s.got())
					}
					b.abandon()
					if !f.blown {
						if n < 12 {
							t.Fatalf("a Deliver of three parts has only %d writes", n)
						}
						return
					}
				}
			}
		}
	})
}
