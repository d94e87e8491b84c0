package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/internal/test/lethetest"
)

const planText = "# Goal: it is there\ndone when: `test -e there`\n\n- [x] 1 make it · check: `test -e made` · files: made\n- [ ] 2 tell · check: ann looks\n"

// A step that stands as done, and is not, is open again, and the model works on; nobody reads that it is done. What has
// passed is not checked again until its files change, over any restart.
func TestStepsAreChecked(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "step 1 is done", "I was wrong", "now it is", "and again")
	plan := w.planned(id, planText)
	equal(t, "answer", r.ask("work"), "I was wrong")
	contains(t, w.prompt(), "as done, but the check `test -e made` ended with exit 1")
	equal(t, "plan", w.read(plan), strings.Replace(planText, "[x] 1", "[ ] 1", 1))

	w.write(w.own(id, "workspace/made"), "first")
	w.write(plan, strings.ReplaceAll(planText, "test -e made", "echo ran >> runs; test -e made"))
	equal(t, "answer", r.ask("go on"), "now it is")
	equal(t, "proofs", len(w.fold(id).Passed), 1)
	r.finish()
	r = w.run(id)
	equal(t, "answer", r.ask("and?"), "and again")
	equal(t, "the check ran", w.read(w.own(id, "workspace/runs")), "ran\n")
	w.write(w.own(id, "workspace/made"), "second")
	r.ask("and now?")
	equal(t, "the check ran", w.read(w.own(id, "workspace/runs")), "ran\nran\n")
	r.checked()
}

// All steps are done, and the goal is not reached: that is found before anybody is told. What cannot be checked is said.
func TestPlanEnds(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "all done", "not yet", "all done now")
	done := strings.ReplaceAll(planText, "[ ]", "[x]")
	plan := w.planned(id, done)
	w.write(w.own(id, "workspace/made"), "")
	equal(t, "answer", r.ask("work"), "not yet")
	contains(t, w.prompt(), "as done, but the check `test -e there` ended with exit 1")
	equal(t, "plan", w.read(plan), planText)
	w.write(w.own(id, "workspace/there"), "")
	w.write(plan, done)
	equal(t, "answer", r.ask("and?"), "all done now")
	equal(t, "proofs", len(w.fold(id).Passed), 2)
	r.checked()
}

// A plan that somebody changes while it is checked stays as it is, and the model is not told otherwise.
func TestPlanChangesMeanwhile(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "done", "I see", "still")
	changes := "- [x] 1 make it · check: `echo more >> work/move.md; false`\n"
	plan := w.planned(id, changes)
	r.ask("work")
	contains(t, w.prompt(), "It still stands so in move.md: it was changed meanwhile")
	contains(t, w.read(plan), changes)
	r.checked()
}

// Checks that do not end hold an answer up for the time of one, and no answer twice.
func TestChecksEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("done", "oh", "well", "I see", "and so on")...)
	id := w.boot("ada", "dev")
	hangs := "- [x] 1 wait · check: `sleep 100`\n"
	plan := w.planned(id, hangs+hangs)
	r := w.run(id, func(c *Config) { c.checkTime = 200 * time.Millisecond })
	equal(t, "answer", r.ask("work"), "well")
	equal(t, "plan", w.read(plan), strings.ReplaceAll(hangs+hangs, "[x]", "[ ]"))
	w.has(id, 2, "reply", "refused", "yes")
	r.checked()
}

// A child is not held to the plans of its parent, in whose workspace it works: the parent is, by its next answer.
func TestChildAndPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	w.write(w.planned(id, "# Goal: none yet\n"), "")
	w.write(w.own(id, "workspace/plan"), planText)
	w.ask("dev", "let somebody else run cp plan work/move.md")
	child := w.child()
	w.eventually("the parent has looked", func() bool { return strings.Contains(w.read(w.own(id, "workspace/work/move.md")), "[ ] 1") })
	w.has(child, 0, "reply", "refused", "yes")
	w.eventually("it is idle", func() bool { return w.quiet(id) })
	w.has(id, 1, "reply", "refused", "yes")
	s.end()
}

// planned writes a plan of an identity.
func (w *world) planned(id home.Identity, text string) (path string) {
	w.Helper()
	lethetest.Must(w, os.MkdirAll(w.own(id, "workspace/work"), 0o700))
	path = w.own(id, "workspace/work/move.md")
	w.write(path, text)
	return path
}
