package bridge

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
)

// Each write of an Accept fails in turn, before or after it took effect, and so does
// its repetition: nothing is lost or doubled, and what failed is not acknowledged.
func TestBrokenWritesInward(t *testing.T) {
	batch := func() []Message {
		return []Message{message("1", "ada", "ok"), message("2", "ada", "ok"), message("3", "bob", "three")}
	}
	want := []string{"ada: before", "ada: ok", "ada: ok", "bob: three"}
	for n := 1; ; n++ {
		for _, when := range []durable.Stage{durable.Before, durable.After} {
			for _, crash := range []bool{false, true} {
				home := t.TempDir()
				b := start(t, home)
				b.accept(t, message("0", "ada", "before"))
				left, hit := n, false
				durable.Fault = func(stage durable.Stage, op, path string) error {
					if stage == when {
						if left--; left == 0 {
							hit = true
						}
					}
					if hit && (crash || left == 0) {
						return errDisk
					}
					return nil
				}
				_, err := b.Accept("9", batch()...)
				if err != nil && crash && b.Position() == "9" {
					t.Fatalf("write %d %s: failed, and the position moved", n, when)
				}
				durable.Fault = nil
				if crash {
					b.abandon()
					b = start(t, home)
				}
				if err != nil || crash {
					if _, err := b.Accept("9", batch()...); err != nil {
						t.Fatal(err)
					}
				}
				b.settleNow()
				equal(t, fmt.Sprintf("write %d %s, crash %v", n, when, crash), texts(t, home, "dev"), want)
				b.abandon()
				b = start(t, home)
				if b.Position() != "9" || len(b.inbox.ledger.waiting) != 0 {
					t.Fatalf("write %d %s: position %q, %d wait", n, when, b.Position(), len(b.inbox.ledger.waiting))
				}
				b.accept(t, batch()...)
				equal(t, "the room at the end", texts(t, home, "dev"), want)
				b.abandon()
				if !hit {
					if n < 10 {
						t.Fatalf("an Accept has only %d writes", n)
					}
					return
				}
			}
		}
	}
}

// settleNow is what Run does.
func (b *Bridge) settleNow() {
	b.inbox.io.Lock()
	defer b.inbox.io.Unlock()
	b.settle(time.Now())
}

// Each write of a Deliver fails in turn, and the process goes on or dies: parts
// are sent in order, and twice only after a death between Send and its mark.
func TestBrokenWritesOutward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { durable.Fault = nil }()
		for n := 1; ; n++ {
			for _, when := range []durable.Stage{durable.Before, durable.After} {
				for _, crash := range []bool{false, true} {
					home := t.TempDir()
					b := start(t, home)
					b.accept(t, message("1", "ada", "question"))
					agentSays(t, home, "a\nb")
					agentSays(t, home, "c")
					s, f := &script{}, &fuse{left: n, when: when, forever: crash}
					durable.Fault = f.burn
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					lethetest.Must(t, b.Deliver(ctx, ada, s))
					cancel()
					durable.Fault = nil
					got := s.got()
					if crash {
						b.abandon()
						b = start(t, home)
						b.catchUp(t, ada, s)
						got = slices.Compact(s.got())
					}
					equal(t, fmt.Sprintf("write %d %s, crash %v", n, when, crash), got, []string{"a", "b", "c"})
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
