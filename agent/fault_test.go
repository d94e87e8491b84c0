package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
	"lethe/llm/rehearsal"
)

// causes are what a disk, or the system in front of it, says of a step. The last
// one ends a write in the middle.
var causes = []error{syscall.EIO, syscall.ENOSPC, syscall.EROFS, syscall.EMFILE, &durable.Short{Bytes: 30, Err: syscall.ENOSPC}}

// fault is one step that fails.
type fault struct {
	mu     sync.Mutex
	seen   int    // steps so far
	failed string // the path of the step that failed
	mended func()
}

func (f *fault) steps() int { f.mu.Lock(); defer f.mu.Unlock(); return f.seen }

// breakOnce fails the n-th durable step of the world's home, before or after it
// was done.
func (w *world) breakOnce(n int, stage durable.Stage, cause error) *fault {
	if short, ok := cause.(*durable.Short); ok && stage == durable.After {
		cause = short.Err
	}
	f := &fault{}
	f.mended = lethetest.Break(w, w.home.Dir, func(at durable.Stage, op, path string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if at != stage {
			return nil
		}
		if f.seen++; f.seen != n {
			return nil
		}
		f.failed = path
		return fmt.Errorf("%s %s: %w", op, path, cause)
	})
	return f
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
// persisted, and looks for a line that was lost or doubled. With LETHE_LONG=1
// each step fails for each cause.
func TestEveryStepFailsOnce(t *testing.T) {
	total := liveWithFault(t, 0, durable.Before, nil)
	if total < 100 {
		t.Fatalf("a life has only %d durable steps", total)
	}
	stride := lethetest.Sample(23, 7, 1)
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for worker := range 6 {
			t.Run(fmt.Sprintf("%s-%d", stage, worker), func(t *testing.T) {
				t.Parallel()
				for n := 1 + worker*stride; n <= total+5; n += 6 * stride {
					some := causes[n%len(causes):][:1]
					if lethetest.Long {
						some = causes
					}
					for _, cause := range some {
						// A subtest each: it gives its watcher and server back at once.
						if !t.Run(fmt.Sprintf("%d of %d, %v", n, total, cause), func(t *testing.T) { liveWithFault(t, n, stage, cause) }) {
							return
						}
					}
				}
			})
		}
	}
}

// liveWithFault boots and lives through the script with one fault, opening the
// identity again when it fails, and checks what came of it. It returns the number of steps.
func liveWithFault(t *testing.T, n int, stage durable.Stage, cause error) (steps int) {
	w := newWorld(t, faultScript()...)
	f := w.breakOnce(n, stage, cause)
	id := w.rebirth(func() {}, "ada", "dev", "ops")
	w.say("dev", "ann", "first question", "and another line")
	asked := false
	w.again("live", func() {}, func() error { return w.lifeEnds(id, &asked) })
	f.mended()
	w.checkLife(id)
	return f.steps()
}

// again tries until it works. retry is called before each attempt.
func (w *world) again(what string, retry func(), do func() error) {
	w.Helper()
	for try := 0; ; try++ {
		retry()
		err := do()
		if err == nil {
			return
		}
		if try == 100 {
			w.Fatalf("%s: fails again and again: %v\n%s", what, err, w.dump())
		}
	}
}

// rebirth boots until it works, as a person would.
func (w *world) rebirth(retry func(), name string, rooms ...string) (id Identity) {
	w.Helper()
	w.again("boot", retry, func() (err error) {
		id, err = Boot(w.home, w.store, BootOptions{Name: name, Rooms: rooms})
		if errors.Is(err, ErrExists) { // made, and yet reported as failed
			return nil
		}
		return err
	})
	return id
}

// lifeEnds opens the identity once and runs it until it has answered both
// questions and stopped, or until it fails.
func (w *world) lifeEnds(id Identity, asked *bool) error {
	r, err := w.try(id)
	if err != nil {
		return err
	}
	has := func(room, text string) bool { return slices.Contains(w.said(room), text) }
	w.eventually("the first answer", func() bool { return r.ended() || has("dev", "the first answer") })
	if !*asked && !r.ended() {
		*asked = true
		w.say("dev", "ann", "second question")
	}
	w.eventually("the second answer", func() bool { return r.ended() || has("dev", "the second answer") && r.idle() })
	r.cancel()
	return r.wait()
}

// checkLife holds a finished life of the script against what must be true of it.
func (w *world) checkLife(id Identity) {
	w.Helper()
	equalSlices(w, "heard in dev", w.heard(id, "dev"), []string{"first question", "and another line", "second question"})
	equalSlices(w, "said in dev", unbroken(w.said("dev")), []string{"the first answer", "the second answer"})
	ops := unbroken(w.said("ops"))
	seen := map[string]bool{}
	for _, res := range w.results(id) {
		equal(w, res.call+" has two results", seen[res.call], false)
		seen[res.call] = true
		if strings.HasSuffix(res.call, " SAY") && (res.status == "ok") != (len(ops) == 1) {
			w.Errorf("SAY has the result %q (%s), and room ops holds %q", res.status, res.text, ops)
		}
	}
	equal(w, "calls with a result", len(seen), 3)
	if len(ops) > 1 {
		w.Errorf("SAY was doubled: %q", ops)
	}
	if ran, _ := os.ReadFile(w.own(id, "workspace/ran.txt")); len(ran) > len("ran\n") {
		w.Errorf("BASH ran twice: %q", ran)
	}
	all, err := w.home.List()
	lethetest.Must(w, err)
	equal(w, "identities", len(all), 1)
	equal(w, "owes", w.owes(id), false)
}

// unbroken drops what a post that was cut off has left in a room, before the post
// was made again.
func unbroken(said []string) []string {
	return slices.DeleteFunc(slices.Clone(said), func(s string) bool {
		return slices.ContainsFunc(said, func(o string) bool { return len(s) < len(o) && strings.HasPrefix(o, s) })
	})
}

// TestFullDisk fills the disk again and again under Supervise. What is written
// last is cut off.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, room := range []int{6, 1, 12, 20}[:lethetest.Sample(1, 2, 4)] { // writes that find room before the disk is full
		t.Run(fmt.Sprint(room), func(t *testing.T) { fullDisk(t, room) })
	}
}

func fullDisk(t *testing.T, room int) {
	t.Parallel()
	w := newWorld(t, faultScript()...)
	id := w.boot("ada", "dev", "ops")
	var mu sync.Mutex
	opening, writes, hits := false, 0, 0
	mended := lethetest.Break(w, w.home.Dir, func(stage durable.Stage, op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if opening || stage != durable.Before || op != "write" && op != "append" {
			return nil
		}
		if writes++; writes < room || hits == 4 {
			return nil
		}
		if hits++; hits%2 == 0 { // found full twice, it is emptied for a while
			writes = 0
		}
		return &durable.Short{Bytes: 3 * room, Err: syscall.ENOSPC}
	})
	opened := 0
	open := func(id Identity) (*Agent, error) {
		if opened++; opened == 1 { // a disk that is full at start is told at once
			mu.Lock()
			opening = true
			mu.Unlock()
			defer func() { mu.Lock(); opening = false; mu.Unlock() }()
		}
		return Open(id, w.conf)
	}
	lives := w.supervise(open, id)
	w.say("dev", "ann", "first question", "and another line")
	w.eventually("the first answer", func() bool { return slices.Contains(w.said("dev"), "the first answer") })
	w.say("dev", "ann", "second question")
	w.eventually("the second answer", func() bool { return slices.Contains(w.said("dev"), "the second answer") })
	w.eventually("the disk was found full", func() bool { mu.Lock(); defer mu.Unlock(); return hits > 0 })
	w.eventually("nothing is owed", func() bool { return !w.owes(id) })
	lives.stop()
	<-lives.done
	if lives.err != nil && !errors.Is(lives.err, syscall.ENOSPC) {
		t.Fatal(lives.err)
	}
	mended()
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
	w.run(id).finish()
	equal(t, "answers", len(w.said("dev")), 1)
	equalSlices(t, "said", w.said("ops"), []string{"half way"})
	equal(t, "result", w.results(id)[0].status, "ok")
}
