package agent

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// TestEveryStepFailsOnce lets each durable step of a life fail, lost and
// persisted, and looks for a line that was lost or doubled. With LETHE_LONG=1
// each step fails for each cause.
func TestEveryStepFailsOnce(t *testing.T) {
	t.Parallel()
	disk := &badDisk{}
	recordLife(t, disk).check()
	total := disk.steps
	if total < 200 {
		t.Fatalf("a life has only %d durable steps", total)
	}
	stride := lethetest.Sample(97, 47, 1)
	for i, stage := range []durable.Stage{durable.Before, durable.After} {
		for n := 1 + i; n <= total+5; n += stride {
			some := causes[n%len(causes):][:1]
			if lethetest.Long() {
				some = causes
			}
			for _, cause := range some {
				t.Run(fmt.Sprintf("%s %d of %d, %v", stage, n, total, cause), func(t *testing.T) {
					t.Parallel()
					recordLife(t, nth(n, stage, cause)).check()
				})
			}
		}
	}
}

// check lets a recorded life go on, of which no power loss takes anything, and looks for
// what is wrong.
func (l *recorded) check() { l.survivesAll(rand.New(rand.NewPCG(3, 4)), 1) }

// TestFullDisk fills the disk again and again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, room := range []int{6, 1, 12, 20, 60}[:lethetest.Sample(1, 3, 5)] { // writes that find room before the disk is full
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			t.Parallel()
			disk := filling(room)
			recordLife(t, disk).check()
			if disk.failed == "" {
				t.Error("the disk was not found full")
			}
		})
	}
}

// A panic between the log and the state is not a call's error, though a call leads to it: the identity is opened
// again, and its log still makes sense.
func TestPanicInSayBehindTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("first", calls("SAY", `{"room":"ops","message":"half way"}`)))
	id := w.boot("ada", "dev", "ops")
	r := w.run(id, dieAt("posted", 1))
	w.say("dev", "ann", "the first question")
	if err := r.wait(); err == nil {
		t.Fatal("the identity has not ended")
	}
	w.run(id).finish()
	equal(t, "answers", len(w.said("dev")), 1)
	equalSlices(t, "said", w.said("ops"), []string{"half way"})
	equal(t, "result", w.results(id)[0].status, "ok")
}
