package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/internal/durable"
	"lethe/llm/rehearsal"
)

// breakOnce fails the n-th durable step of the world's home, before or after it
// was done. It returns how many steps there were so far.
func (w *world) breakOnce(n int, stage durable.Stage) (steps func() int) {
	var mu sync.Mutex
	seen := 0
	faults.Store(w.home.Dir, func(at durable.Stage, op, path string) error {
		if at != stage {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return fmt.Errorf("%s %s: %w", op, path, syscall.EIO)
		}
		return nil
	})
	w.Cleanup(func() { faults.Delete(w.home.Dir) })
	return func() int { mu.Lock(); defer mu.Unlock(); return seen }
}

// script of a life: two calls that have effects, then words; then an answer.
func faultScript() []rehearsal.Step {
	done := func(r *rehearsal.Request) bool { return r.Last().Role == "tool" }
	asks := func(r *rehearsal.Request) bool {
		return r.Last().Role == "user" && strings.Contains(r.Last().Text(), "first question")
	}
	return []rehearsal.Step{
		{Match: asks, Times: -1, Answer: calls(
			"BASH", `{"command":"echo ran >> ran.txt"}`, "SAY", `{"room":"ops","message":"half way"}`, "LIST", `{"path":"."}`)},
		{Match: done, Times: -1, Answer: text("the first answer")},
		{Contains: "second question", Times: -1, Answer: text("the second answer")},
	}
}

// TestEveryStepFailsOnce lets each durable step of a life fail, lost and
// persisted, and looks for a line that was lost or doubled.
func TestEveryStepFailsOnce(t *testing.T) {
	total := liveWithFault(t, 0, durable.Before)
	if total < 100 {
		t.Fatalf("a life has only %d durable steps", total)
	}
	stride := 1
	if testing.Short() || raceEnabled {
		stride = 11
	}
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for worker := range 6 {
			t.Run(fmt.Sprintf("%s-%d", stage, worker), func(t *testing.T) {
				t.Parallel()
				for n := 1 + worker*stride; n <= total+5; n += 6 * stride {
					liveWithFault(t, n, stage)
					if t.Failed() {
						t.Fatalf("step %d of %d, %s", n, total, stage)
					}
				}
			})
		}
	}
}

// liveWithFault boots and lives through the script, opening the identity again
// whenever it fails, and checks what came of it. It returns the number of steps.
func liveWithFault(t *testing.T, n int, stage durable.Stage) (steps int) {
	w := newWorld(t, faultScript()...)
	count := w.breakOnce(n, stage)
	id := w.rebirth("ada", "dev", "ops")
	w.say("dev", "ann", "first question", "and another line")
	asked := false
	for reopened := 0; ; reopened++ {
		if reopened > 5 {
			t.Fatalf("step %d, %s: the identity fails again and again\n%s", n, stage, w.dump())
		}
		if w.lifeEnds(id, &asked) {
			break
		}
	}
	w.checkLife(id)
	faults.Delete(w.home.Dir)
	return count()
}

// rebirth boots until it works, as a person would.
func (w *world) rebirth(name string, rooms ...string) Identity {
	w.Helper()
	for try := 0; ; try++ {
		id, err := Boot(w.home, w.store, Birth{Name: name, Rooms: rooms})
		if err == nil || errors.Is(err, ErrExists) { // made, and yet reported as failed
			return id
		}
		if try > 2 {
			w.Fatal(err)
		}
	}
}

// lifeEnds opens the identity once and runs it until it has answered both
// questions and stopped, or until it fails.
func (w *world) lifeEnds(id Identity, asked *bool) bool {
	r, err := w.try(id)
	if err != nil {
		return false
	}
	has := func(room, text string) bool { return slices.Contains(w.said(room), text) }
	w.eventually("the first answer", func() bool { return r.ended() || has("dev", "the first answer") })
	if !*asked && !r.ended() {
		*asked = true
		w.say("dev", "ann", "second question")
	}
	w.eventually("the second answer", func() bool { return r.ended() || has("dev", "the second answer") && r.idle() })
	if r.ended() {
		return false
	}
	r.cancel()
	return r.wait() == nil
}

// checkLife holds a finished life of the script against what must be true of it.
func (w *world) checkLife(id Identity) {
	w.Helper()
	equalSlices(w, "heard in dev", w.heard(id, "dev"), []string{"first question", "and another line", "second question"})
	equalSlices(w, "said in dev", w.said("dev"), []string{"the first answer", "the second answer"})
	ops := w.said("ops")
	results := map[string]int{}
	for _, e := range w.events(id, "result") {
		results[e.Arg(0)]++
		started := strings.HasPrefix(w.body(e, 0), "not started")
		if e.Arg(1) == "SAY" && (e.Get("status") == "ok") != (len(ops) == 1) {
			w.Errorf("SAY has the result %q (%v), and room ops holds %q", e.Get("status"), started, ops)
		}
	}
	for id, n := range results {
		equal(w, "results of "+id, n, 1)
	}
	equal(w, "calls with a result", len(results), 3)
	if len(ops) > 1 {
		w.Errorf("SAY was doubled: %q", ops)
	}
	if ran, _ := os.ReadFile(w.own(id, "workspace/ran.txt")); len(ran) > len("ran\n") {
		w.Errorf("BASH ran twice: %q", ran)
	}
	all, err := w.home.List()
	must(w, err)
	equal(w, "identities", len(all), 1)
	for _, r := range w.asked() {
		equal(w, "refusal of a request", r.Refused, "")
	}
	s := w.fold(id)
	if owed := s.Owed(); owed.Answer || len(owed.Calls)+len(owed.Posts) > 0 {
		w.Errorf("still owed: %+v", owed)
	}
}

// TestFullDisk fills the disk for a while under Supervise.
func TestFullDisk(t *testing.T) {
	w := newWorld(t, faultScript()...)
	id := w.boot("ada", "dev", "ops")
	var mu sync.Mutex
	full, hit := true, 0
	faults.Store(w.home.Dir, func(stage durable.Stage, op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if full && stage == durable.Before && (op == "write" || op == "append") {
			hit++
			return syscall.ENOSPC
		}
		return nil
	})
	t.Cleanup(func() { faults.Delete(w.home.Dir) })
	opened := 0
	open := func(id Identity) (*Agent, error) {
		if opened++; opened == 1 { // a disk that is full at start is told at once
			mu.Lock()
			full = false
			mu.Unlock()
			defer func() { mu.Lock(); full = true; mu.Unlock() }()
		}
		return Open(id, w.conf)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Supervise(ctx, []Identity{id}, open, discard()) }()
	w.say("dev", "ann", "first question", "and another line")
	w.eventually("the disk was found full", func() bool { mu.Lock(); defer mu.Unlock(); return hit > 0 })
	mu.Lock()
	full = false
	mu.Unlock()
	w.eventually("the first answer", func() bool { return slices.Contains(w.said("dev"), "the first answer") })
	w.say("dev", "ann", "second question")
	w.eventually("the second answer", func() bool { return slices.Contains(w.said("dev"), "the second answer") })
	cancel()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	case <-time.After(w.limit):
		t.Fatal("Supervise did not end")
	}
	w.checkLife(id)
}

// A panic between the log and the state is not a tool's error, though it comes
// out of a tool: the identity is opened again, and its log still makes sense.
func TestPanicInSayBehindTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "first", Answer: calls("SAY", `{"room":"ops","message":"half way"}`)})
	id := w.boot("ada", "dev", "ops")
	r := w.run(id, dieAt("posted", 1))
	w.say("dev", "ann", "the first question")
	if err := r.wait(); !errors.Is(err, errBehind) {
		t.Fatalf("the identity ended with %v", err)
	}
	r = w.run(id)
	w.answered("dev", 1)
	r.settled()
	r.stop()
	equalSlices(t, "said", w.said("ops"), []string{"half way"})
	equal(t, "result", w.events(id, "result")[0].Get("status"), "ok")
}
