package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

// ada is a peer whose messages message makes.
var ada = Peer{Key: "p-ada", Room: "dev"}

// agentSays appends a line of an agent to dev.
func agentSays(t testing.TB, home, text string) {
	t.Helper()
	say(t, home, "dev", true, "lethe", noon, text)
}

// settled lets Deliver come to rest after it looked again.
func settled() {
	time.Sleep(20 * time.Millisecond)
	synctest.Wait()
}

// goneAfterOne is the answers of another side that takes one part.
func goneAfterOne(_ context.Context, n int, _ string) error {
	if n > 1 {
		return errors.New("gone")
	}
	return nil
}

func TestDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.agentSays("of the past")
		s := &script{}
		end := b.deliver(ada, s)
		settled()
		if err := b.Deliver(t.Context(), ada, s); err == nil {
			t.Error("two Delivers for one peer")
		}
		end()
		b.accept(message("1", "ada", "question one"), message("2", "ada", "question two"), message("3", "bob", "aside"))
		b.agentSays("part one\npart two")
		b.say("dev", false, "eve", noon, "not by the bridge")
		b.agentSays("part three")
		end = b.deliver(ada, s)
		settled()
		equal(t, "sent", s.got(), "part one", "part two", "part three")
		end()
		// Restarted, it goes on after all that.
		b.again()
		b.agentSays("part four")
		b.deliver(ada, s)
		settled()
		equal(t, "sent", s.got(), "part one", "part two", "part three", "part four")

		by := map[string]Line{}
		for _, l := range s.offered {
			by[l.Text] = l
		}
		if len(by) != 3 {
			t.Errorf("offered %d lines: %+v", len(by), by)
		}
		if o := by["part one\npart two"].Open; len(o) != 2 || o[0].ID != "1" || o[1].ID != "2" || o[1].From == 0 {
			t.Errorf("the answer may answer %+v", o)
		}
		if len(by["part three"].Open)+len(by["part four"].Open) > 0 {
			t.Error("what was said since an answer may answer what was said before")
		}
	})
}

func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.agentSays("of the past, before Accept knew the peer")
		b.accept(message("1", "ada", "question"))
		b.agentSays("a\nb\nc")
		began := time.Now()
		var at []time.Duration
		fail := map[int]error{
			1: errors.New("bad gateway"), 2: errors.New("bad gateway"),
			3: fmt.Errorf("wrapped: %w", &LaterError{7 * time.Second, errors.New("too many requests")}),
			5: fmt.Errorf("%w: message is too long", ErrRefused),
			6: fmt.Errorf("%w: bot was blocked", ErrUnreachable),
		}
		s := &script{answer: func(_ context.Context, n int, _ string) error {
			at = append(at, time.Since(began))
			return fail[n]
		}}
		b.deliver(ada, s)
		end := b.run()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if h := b.health(); strings.Join(h.Unreachable, " ") != "p-ada" || h.Ailment() != "" || h.Out != 1 {
			t.Errorf("health %+v", h)
		}
		equal(t, "stored", shown(b.state("p-ada").Line), `"c"`)
		time.Sleep(20 * time.Minute)
		equal(t, "sent", s.got(), "a", "c")
		if h := b.health(); len(h.Unreachable) != 0 || h.Out != 0 {
			t.Errorf("health %+v", h)
		}
		end()
		gap := func(i int) time.Duration { return at[i] - at[i-1] }
		for i, want := range map[int][2]time.Duration{
			1: {500 * time.Millisecond, time.Second}, 2: {time.Second, 2 * time.Second},
			3: {7 * time.Second, 7 * time.Second}, 4: {0, 0}, 5: {0, 0}, 6: {10 * time.Minute, 10 * time.Minute},
		} {
			if gap(i) < want[0] || gap(i) > want[1] {
				t.Errorf("call %d came after %s, not %v", i+1, gap(i), want)
			}
		}
	})
}

// shown is a line that is being sent, as text.
func shown(s *sending) (all []string) {
	if s == nil {
		return nil
	}
	for _, p := range s.Parts {
		all = append(all, string(p.Data))
	}
	return all
}

func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.accept(message("1", "ada", "question"))
		b.agentSays("a")
		var fail error
		s := &script{answer: func(context.Context, int, string) error { return fail }}
		fail = fmt.Errorf("%w: blocked", ErrUnreachable)
		end := b.deliver(ada, s)
		settled()
		b.Wake("p-ada")
		settled()
		fail = &LaterError{time.Hour, errors.New("too many requests")}
		b.Wake("p-ada")
		settled()
		fail = nil
		b.Wake("p-ada")
		b.Wake("../x")
		settled()
		if s.calls != 3 || len(s.got()) != 0 {
			t.Errorf("sent %d times, %v: a LaterError's time is not kept", s.calls, s.got())
		}
		time.Sleep(time.Hour)
		equal(t, "sent", s.got(), "a")
		end()
	})
}

// The parts that were stored are sent, whatever a newer program would make of the line.
func TestStoredPartsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.accept(message("1", "ada", "question"))
		b.agentSays("a\nb\nc")
		s := &script{answer: goneAfterOne}
		b.catchUp(ada, s)
		b.again()
		newer := &script{parts: func(Peer, Line) ([]Part, error) { return []Part{{Data: json.RawMessage(`"all"`)}}, nil }}
		b.deliver(ada, newer)
		settled()
		b.agentSays("d")
		b.abandon()
		equal(t, "sent by the newer program", newer.got(), "b", "c")
	})
}

func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.accept(message("1", "ada", "question"))
		b.agentSays("never")
		b.agentSays("not yet")
		b.agentSays("not for here")
		failed := 0
		s := &script{parts: func(p Peer, l Line) ([]Part, error) {
			switch {
			case l.Text == "never":
				return nil, fmt.Errorf("%w: cannot be shown", ErrRefused)
			case l.Text == "not yet" && failed < 3:
				failed++
				return nil, errors.New("the picture is missing")
			case l.Text == "not for here":
				return nil, nil
			}
			return split(p, l)
		}}
		b.deliver(ada, s)
		time.Sleep(10 * time.Second)
		equal(t, "sent", s.got(), "not yet")
		if h := b.health(); h.Out != 0 {
			t.Errorf("%d lines wait that are not for this peer", h.Out)
		}
	})
}

// A Send that is under way may be answered after the end, for a second.
func TestEndDuringSend(t *testing.T) {
	for _, slow := range []time.Duration{500 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t)
			b.accept(message("1", "ada", "question"))
			b.agentSays("a\nb")
			s := &script{answer: func(ctx context.Context, _ int, _ string) error {
				select {
				case <-time.After(slow):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
			end := b.deliver(ada, s)
			settled()
			began := time.Now()
			end()
			took := time.Since(began)
			want := []string{`"b"`}
			if slow > grace {
				want = []string{`"a"`, `"b"`}
			}
			equal(t, "stored", shown(b.state("p-ada").Line), want...)
			if took > grace {
				t.Errorf("Deliver ended after %s", took)
			}
		})
	}
}

func TestMoveAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.accept(message("1", "ada", "question"))
		b.agentSays("a\nb")
		b.agentSays("left behind")
		b.say("ops", true, "lethe", noon, "history of ops")
		stuck := &script{answer: goneAfterOne}
		end := b.deliver(ada, stuck)
		settled()
		ops := Peer{"p-ada", "ops"}
		if b.Forget("p-ada") == nil {
			t.Error("a peer is forgotten while it is delivered to")
		}
		end()
		toOps := message("2", "ada", "question in ops")
		toOps.Room = "ops"
		b.accept(toOps)
		b.say("ops", true, "lethe", noon, "answer in ops")
		b.again()
		s := &script{}
		end = b.deliver(ops, s)
		settled()
		equal(t, "sent", s.got(), "b", "answer in ops")
		end()
		// Deliver moves, too: back to the end of dev.
		b.catchUp(ada, s)
		b.agentSays("back in dev")
		b.catchUp(ada, s)
		lethetest.Must(t, b.Forget("p-ada"))
		b.agentSays("while forgotten")
		b.catchUp(ada, s)
		equal(t, "sent", s.got(), "b", "answer in ops", "back in dev")
		for _, err := range []error{b.Forget(""), b.Deliver(t.Context(), Peer{"..", "dev"}, s), b.Deliver(t.Context(), Peer{"x", ""}, s)} {
			if err == nil {
				t.Error("a malformed peer is accepted")
			}
		}
	})
}
