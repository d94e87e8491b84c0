package bridge

import (
	"context"
	"errors"
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
		m := message(fmt.Sprint("id", i), user, rapid.SampledFrom([]string{"ok", fmt.Sprint("line ", i), fmt.Sprint("two\nlines ", i)}).Draw(t, "text"))
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
						time.Sleep(time.Duration(rapid.IntRange(0, 8).Draw(r, "seconds")) * time.Second)
						b.settleNow()
						continue
					}
					place, batch := s.next(r)
					_, err := b.Accept(place, batch...)
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
			for len(b.inbox.ledger.waiting) > 0 || len(b.inbox.unrecorded) > 0 {
				time.Sleep(time.Minute)
				b.settleNow()
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

// outside is the other side of a Deliver: what it got, and how often it may have
// got a part twice.
type outside struct {
	t    *rapid.T
	fuse *fuse
	got  []string
	may  map[string]int // repetitions allowed, by part
	die  func()         // ends the Deliver that sends
	dead bool
	no   map[string]bool // refused
}

func (o *outside) Parts(p Peer, l Line) ([]Part, error) { return split(p, l) }

func (o *outside) Send(ctx context.Context, _ Peer, part Part) (string, error) {
	text := string(part.Data)
	if o.dead {
		<-ctx.Done() // a dead process sends nothing
		return "", ctx.Err()
	}
	took := func() { o.got = append(o.got, text) }
	switch rapid.IntRange(0, 11).Draw(o.t, "answer") {
	case 0:
		return "", errors.New("no route to host")
	case 1:
		took()
		o.may[text]++
		return "", &lostAnswer{}
	case 2:
		return "", &LaterError{3 * time.Second, errors.New("too many requests")}
	case 3:
		o.no[text] = true
		return "", &RefusedError{errors.New("bad request")}
	case 4:
		return "", &UnreachableError{errors.New("blocked")}
	case 5: // killed between Send and its mark
		took()
		o.may[text]++
		o.kill()
	case 6: // killed before anything was sent
		o.kill()
		<-ctx.Done()
		return "", ctx.Err()
	default:
		took()
	}
	return "r", nil
}

func (o *outside) kill() {
	o.dead = true
	*o.fuse = fuse{blown: true, forever: true} // nothing reaches the disk any more
	o.die()
}

// Whatever fails, or dies, and whenever: each part goes out, in order; and twice
// only where its delivery was unknown or the process died after it.
func TestOutwardProperty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { durable.Fault = nil }()
		rapid.Check(bubbled{t}, func(r *rapid.T) {
			home, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				r.Fatal(err)
			}
			durable.Fault = nil
			b := start(t, home)
			if err := b.Move(ada); err != nil {
				r.Fatal(err)
			}
			o := &outside{t: r, may: map[string]int{}, no: map[string]bool{}}
			var want []string
			n := rapid.IntRange(1, 12).Draw(r, "lines")
			for said := 0; said < n || state(t, home, ada.Key).Line != nil || healthOf(t, home).Out > 0; {
				for range rapid.IntRange(0, 3).Draw(r, "new") {
					if said++; said <= n {
						text := fmt.Sprintf("%d a", said)
						if rapid.Bool().Draw(r, "two parts") {
							text += fmt.Sprintf("\n%d b", said)
						}
						agentSays(t, home, text)
						for part := range strings.SplitSeq(text, "\n") {
							want = append(want, fmt.Sprintf("%q", part))
						}
					}
				}
				o.fuse, o.dead = &fuse{}, false
				if rapid.Bool().Draw(r, "disk trouble") {
					o.fuse = drawFuse(r, 12)
				}
				before := len(o.got)
				o.session(t, b, rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 20 * time.Second, 11 * time.Minute}).Draw(r, "lasts"))
				if o.fuse.forever { // the disk died: of what was sent last, the mark may be missing
					if len(o.got) > before {
						o.may[o.got[len(o.got)-1]]++
					}
					b.abandon()
					b = start(t, home)
				}
			}
			b.abandon()
			o.check(want)
		})
	})
}

// session is one Deliver.
func (o *outside) session(t *testing.T, b *Bridge, lasts time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	o.die = cancel
	durable.Fault = o.fuse.burn
	defer func() { durable.Fault = nil }()
	if err := b.Deliver(ctx, ada, o); err != nil {
		o.t.Fatal(err)
	}
}

func (o *outside) check(want []string) {
	var once []string
	twice := map[string]int{}
	for i, text := range o.got {
		if i > 0 && o.got[i-1] == text {
			twice[text]++
			continue
		}
		once = append(once, text)
	}
	// A part whose answer was lost may be refused when it is sent again.
	want = slices.DeleteFunc(want, func(text string) bool { return o.no[text] && !slices.Contains(o.got, text) })
	if !slices.Equal(once, want) {
		o.t.Fatalf("the other side got\n%q\nnot\n%q", o.got, want)
	}
	for text, n := range twice {
		if n > o.may[text] {
			o.t.Fatalf("%s was sent %d times more than once, %d of them for a reason", text, n, o.may[text])
		}
	}
}
