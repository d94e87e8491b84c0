package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// killedAll supervises an identity until the n-th event of it and its children is in a
// log, and kills them all: none gets further than to one more line. It reports false
// when there were fewer events.
func (w *world) killedAll(id home.Identity, n int64, done func() bool) bool {
	w.Helper()
	var events atomic.Int64
	w.conf.Tell = func(_ home.Identity, e life.Event) {
		if events.Add(1) >= n && e.Get("why") != "boot" && e.Kind != life.Sealed { // the first ones are told in Open, where nobody recovers
			panic("killed")
		}
	}
	s := w.supervise(id)
	w.eventually("the end", func() bool { return events.Load() >= n || done() })
	s.end()
	w.conf.Tell = nil
	return events.Load() >= n
}

// Whatever is recorded when all is killed, in the parent or in its child: one child is
// made, it gets its brief once, and its result is told once.
func TestSpawnOverKills(t *testing.T) {
	slow(t)
	for n := int64(1); n <= 44; n += int64(lethetest.Sample(7, 3, 1)) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			lethetest.Tried(t, 1)
			w := newWorld(t)
			id := w.boot("ada", "dev")
			w.say("dev", "ann", "let somebody else run echo x >> ran; echo hello")
			ended := func() bool {
				return slices.ContainsFunc(w.said("dev"), func(s string) bool { return strings.Contains(s, " says: ") })
			}
			w.killedAll(id, n, ended)
			s := w.supervise(id)
			w.eventually("the result is told", ended)
			child := w.child()
			w.gone(child)
			w.settle(id)
			s.end()
			said := w.said(w.fold(id).Children[0].Room)
			if len(said) != 2 || said[0] != "run echo x >> ran; echo hello" || !strings.HasPrefix(said[1], "result 1: ") {
				t.Errorf("in its room: %q", said)
			}
			if said := w.said("dev"); len(said) != 2 {
				t.Errorf("in dev: %q", said)
			}
			ran, _ := os.ReadFile(w.own(id, "workspace/ran"))
			if unknown := strings.Contains(said[1], "effect unknown"); len(ran) > 2 || len(ran) == 0 && !unknown {
				t.Errorf("it ran %q, and %q", ran, said[1])
			}
			w.conserved(id)
			w.conserved(child)
		})
	}
}

// settle waits until an identity owes nothing.
func (w *world) settle(id home.Identity) {
	w.Helper()
	w.eventually(id.Name+" owes nothing", func() bool { return !w.owes(id) })
}
