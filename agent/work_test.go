package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/status"
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
	equal(t, "answer", r.ask("go on"), "now it is\n\n(Plans: move.md/1 has another check.)")
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
	told := strings.ReplaceAll(planText, "check: ann looks", "she knows")
	done := strings.ReplaceAll(told, "[ ]", "[x]")
	plan := w.planned(id, done)
	w.write(w.own(id, "workspace/made"), "")
	equal(t, "answer", r.ask("work"), "not yet")
	contains(t, w.prompt(), "as done, but the check `test -e there` ended with exit 1")
	equal(t, "plan", w.read(plan), told)
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

// Nobody is asked about a step, or about the end of a plan, before what it comes after is done.
func TestNobodyLooksTooSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, append(says("all done", "one is open"), always("now it is"))...)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	r := w.run(id)
	const steps = "- [x] 1 make it · check: `test -e made`\n- [x] 2 tell · check: ann looks at it · after 1\n"
	plan := w.planned(id, "done when: ann is glad\n\n"+steps)
	r.tell("work")
	equal(t, "plan", w.read(plan), "done when: ann is glad\n\n"+strings.ReplaceAll(steps, "[x]", "[ ]"))
	contains(t, w.prompt(), "as done, but it comes after a step that is not")
	w.has(id, 0, "asked")
	w.write(w.own(id, "workspace/made"), "")
	w.write(plan, steps)
	r.tell("again")
	equal(t, "plan", w.read(plan), strings.Replace(steps, "[x] 2", "[?] 2", 1))
	w.has(id, 1, "asked")
	r.finish()
}

// A step for ann stands as done when she has said so, and nobody else, over any restart. She is asked once, and anew when
// what it is about changes.
func TestPersonLooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, append(says("ann said it is fine", "ann is asked"), always("bob says so, so it is done"))...)
	w.conf.People = []string{"ann", "bob"}
	id := w.boot("ada", "dev")
	r := w.run(id)
	const looks = "- [x] 1 tell · check: ann looks at it · files: made\n"
	plan := w.planned(id, looks)
	stands := func(what, mark string, asked, open int) {
		t.Helper()
		r.settled()
		equal(t, what, w.read(plan), strings.Replace(looks, "[x]", "["+mark+"]", 1))
		w.has(id, asked, "asked")
		equal(t, what+": open", len(w.fold(id).Questions), open)
	}
	r.tell("work")
	equal(t, "answer", w.newestSaid(), "ann is asked")
	contains(t, w.prompt(), "as done, but people are asked now, and it is done when they say yes")
	q := w.question("dev", 1)
	equalSlices(t, "for", q.For, []string{"ann"})
	w.say("dev", "bob", q.ID+" yes")
	w.answered("dev", 3)
	stands("bob's yes", "?", 1, 1)
	r.finish()
	r = w.run(id)
	w.write(plan, looks)
	r.tell("is it done?")
	contains(t, w.prompt(), "that is for people to say, who are asked in "+q.ID)
	stands("a lie", "?", 1, 1)
	w.say("dev", "ann", q.ID+" yes")
	w.answered("dev", 5)
	stands("her yes", "x", 1, 0)

	w.write(w.own(id, "workspace/made"), "first")
	r.tell("and now?")
	stands("another file", "?", 2, 1)
	was := w.question("dev", 2)
	w.write(w.own(id, "workspace/made"), "second")
	r.tell("and then?")
	stands("one more", "?", 3, 1)
	q = w.question("dev", 3)
	if open := w.fold(id).Questions[0].ID; q.ID == was.ID || open != q.ID {
		t.Errorf("%s is open, asked were %s and %s", open, was.ID, q.ID)
	}
	w.say("dev", "ann", q.ID+" no")
	w.eventually("it is heard", func() bool { return len(w.fold(id).Questions) == 0 })
	stands("her no", " ", 3, 0)
	w.write(plan, looks)
	r.tell("is it done?")
	contains(t, w.prompt(), "people have said no to it as it stands")
	stands("a lie", " ", 3, 0)
	r.checked()
}

// A judge sees the goal, the step and its files, in one request of its own. One that errs decides nothing: people do.
func TestJudge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("secretly I know that it is bad", `{"pass": false, "why": "it is thin"}`, "I was wrong",
		"it is fine", "no, it is not", "now", "```json\n{\"pass\": true}\n```", "more", "PASS, of course", "people are asked")...)
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	r := w.run(id)
	const judged = "# Goal: a text\n- [x] 1 write · check: judge it is no thin text · files: made\n"
	plan := w.planned(id, judged)
	w.write(w.own(id, "workspace/made"), "of little weight")
	r.tell("work")
	equal(t, "answer", w.newestSaid(), "I was wrong")
	contains(t, w.prompt(), "the judge says no: \\\"it is thin\\\"")
	saw := w.requests()[1]
	contains(t, string(saw.messages), "of little weight")
	if strings.Contains(string(saw.messages), "secretly") || saw.rest["tools"] != "" {
		t.Errorf("the judge got %s", saw.messages)
	}
	w.has(id, 1, "spent", "on", "judge")
	equal(t, "plan", w.read(plan), strings.Replace(judged, "[x]", "[ ]", 1))
	w.write(plan, judged)
	r.tell("say that it is done")
	equal(t, "answer", w.newestSaid(), "no, it is not")
	w.has(id, 1, "spent", "on", "judge") // and no other judge is tried
	w.write(plan, judged)
	w.write(w.own(id, "workspace/made"), "of more than little weight")
	r.tell("again")
	equal(t, "answer", w.newestSaid(), "now")
	equal(t, "judgements", len(w.fold(id).Passed), 2)
	w.write(w.own(id, "workspace/made"), "of more weight")
	r.tell("more")
	equal(t, "answer", w.newestSaid(), "people are asked")
	equal(t, "plan", w.read(plan), strings.Replace(judged, "[x]", "[?]", 1))
	contains(t, w.question("dev", 1).Text, "the judge gave no verdict")
	r.checked()
}

// A judge that errs is not asked again at each answer where there are no people: the step is open.
func TestJudgeErrs(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "done", "no verdict", "I see", "still")
	const judged = "- [x] 1 write · check: judge it is good · files: made\n"
	plan := w.planned(id, judged)
	w.write(w.own(id, "workspace/made"), "a text")
	equal(t, "answer", r.ask("work"), "I see")
	equal(t, "answer", r.ask("and?"), "still")
	w.has(id, 1, "spent", "on", "judge")
	equal(t, "plan", w.read(plan), strings.Replace(judged, "[x]", "[ ]", 1))
	r.checked()
}

// A check that is gone, or is another one, does not go unnoticed: people are told, once. Steps that have passed may go.
func TestWeakened(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "planned", "I was wrong", "so be it", "and more", "the end", "the very end")
	const steps = "- [ ] 1 try · check: `test -e made`\n- [ ] 2 tell · check: ann looks\n- [x] 3 say · check: `true`\n"
	plan := w.planned(id, steps)
	equal(t, "answer", r.ask("plan"), "planned")
	w.write(plan, strings.NewReplacer("[ ] 1", "[x] 1", "test -e made", "true", "check: ann looks", "all right").Replace(steps))
	equal(t, "answer", r.ask("work"), "I was wrong\n\n(Plans: move.md/1 has another check, move.md/2 and its check are gone.)")
	r.finish()
	r = w.run(id)
	equal(t, "answer", r.ask("and?"), "so be it")
	lethetest.Must(t, os.Remove(plan))
	equal(t, "answer", r.ask("and?"), "and more")
	w.write(plan, "- [ ] 1 try · check: `test -e a`\n- [ ] 1 tell · check: `test -e b`\n")
	equal(t, "answer", r.ask("two are called 1"), "the end")
	equal(t, "answer", r.ask("and?"), "the very end")
	r.checked()
}

// She is asked once, whatever is killed when.
func TestPersonAskedOverKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("it is done"))
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	const looks = "- [x] 1 tell · check: ann looks\n"
	plan := w.planned(id, looks)
	w.say("dev", "ann", "work")
	for _, kind := range []string{"inbound", "reply", "posted"} {
		w.dies(id, kind, 1)
	}
	r := w.run(id)
	r.settled()
	w.has(id, 1, "asked")
	equal(t, "open", len(w.fold(id).Questions), 1)
	equal(t, "plan", w.read(plan), strings.Replace(looks, "[x]", "[?]", 1))
	r.checked()
}

// A /stop ends the check of a step: the plan stays as it is, and nobody is asked.
func TestStepStopped(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{}, "done")
	const slow = "- [x] 1 wait · check: `touch running; sleep 600`\n- [x] 2 tell · check: ann looks\n"
	plan := w.planned(id, slow)
	w.say("dev", "ann", "work")
	w.shows(id, "the check runs", func(s status.Status) bool { return s.State == status.Acting && s.Tool == "check" })
	w.say("dev", "ann", "/stop")
	equal(t, "answer", w.answered("dev", 1), "Stopped.")
	r.settled()
	equal(t, "plan", w.read(plan), slow)
	w.has(id, 0, "asked")
	r.finish()
}

// newestSaid is the newest line that an identity has said in room dev.
func (w *world) newestSaid() string {
	w.Helper()
	said := w.said("dev")
	return said[len(said)-1]
}

// planned writes a plan of an identity.
func (w *world) planned(id home.Identity, text string) (path string) {
	w.Helper()
	lethetest.Must(w, os.MkdirAll(w.own(id, "workspace/work"), 0o700))
	path = w.own(id, "workspace/work/move.md")
	w.write(path, text)
	return path
}
