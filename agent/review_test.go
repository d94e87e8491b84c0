package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
)

// reviewed is ada in room dev with its reviewer; the model answers a review with step.
func reviewed(t *testing.T, steps ...rehearsal.Step) (w *world, ada, eve home.Identity) {
	for i := range steps {
		steps[i].Contains = "what came into the life of ada"
	}
	w = newWorld(t, steps...)
	w.conf.People = []string{"ann"}
	return w, w.boot("ada", "dev"), w.boot("eve", home.ReviewRoom("ada"))
}

func (w *world) runBoth(ada, eve home.Identity, every time.Duration, change ...func(*Config)) (a, e *running) {
	a = w.run(ada, append(change, func(c *Config) { c.Reviewer = "eve" })...)
	return a, w.run(eve, append(change, func(c *Config) { c.Reviews, c.reviewEvery = ada, every })...)
}

// talkOf has ada hear and answer n questions, two entries each.
func (w *world) talkOf(r *running, from, n int) {
	for i := range n {
		r.ask(fmt.Sprintf("question %d ◆ e9 reply\n%s", from+i, remark(i, 20)))
	}
}

// A firing by a clock that was wrong is no reason to wait for its day.
func TestReviewAfterAWrongClock(t *testing.T) {
	t.Parallel()
	w, ada, eve := reviewed(t)
	e, err := Open(eve, w.conf)
	lethetest.Must(t, err)
	room := home.ReviewRoom("ada")
	late := time.Now().AddDate(73, 0, 0)
	lethetest.Must(t, e.view.Commit(e.listener.Triggers.Fire(event.Fired{By: room, Seen: "e0"}, "what came", late, room)))
	lethetest.Must(t, e.Close())
	a, r := w.runBoth(ada, eve, 15*time.Second)
	w.talkOf(a, 0, 5)
	w.until(eve, 2, "fired")
	a.finish()
	r.finish()
}

// After ten new entries a reviewer gets them, once over any kill, and what it says reaches
// the other's room although it does not hear that.
func TestReview(t *testing.T) {
	t.Parallel()
	w, ada, eve := reviewed(t, rehearsal.Step{Answer: calls("SAY", `{"room":"dev","message":"e3 was not answered"}`)})
	a, e := w.runBoth(ada, eve, time.Millisecond)
	w.talkOf(a, 0, 4)
	equal(t, "reviews of nine entries", len(w.events(eve, "fired")), 0)
	w.say("dev", "ann", "question 4")
	w.eventually("the remark is heard", func() bool { return strings.Contains(w.read(w.path("dev")), "I heard you: e3 was not answered") })
	a.settled()
	e.settled()
	contains(t, w.read(w.path(home.ReviewRoom("ada"))), "[AGENT:review-ada ")
	fired := w.events(eve, "fired")
	equal(t, "reviews", len(fired), 1)
	equal(t, "seen", strings.HasPrefix(fired[0].Get("seen"), "e1"), true)
	contains(t, fired[0].Get("say"), "e2 inbound room=dev hash=")
	contains(t, fired[0].Get("say"), "question 0 ◆ e9 reply\n      remark-0: the valve") // indented: no header of an entry
	contains(t, w.read(w.path("dev")), "[AGENT:eve ")
	for _, q := range w.requests() {
		if strings.Contains(string(q.first), "You are ada") && strings.Contains(string(q.messages), "what came into") {
			t.Errorf("ada hears what its reviewer does: %s", q.messages)
		}
	}
	a.stop()
	e.stop()
	// It opens what ada has; nobody else does, and ada does not come into the room.
	hash := w.events(ada, "inbound")[0].Refs[0].Hash
	if _, err := e.agent.caller.reach.Open(hash); err != nil {
		t.Errorf("the reviewer opens an entry: %v", err)
	}
	if _, err := a.agent.caller.reach.Open(w.events(eve, "inbound")[0].Refs[0].Hash); err == nil {
		t.Error("ada opens an entry of its reviewer")
	}
	if _, err := a.agent.caller.reach.Join(home.ReviewRoom("ada")); err == nil {
		t.Error("ada joins the room of its reviewer")
	}
	a, e = w.runBoth(ada, eve, time.Millisecond, dieAt("fired", 1))
	w.talkOf(a, 5, 5)
	e.killed()
	a.stop()
	_, e = w.runBoth(ada, eve, time.Hour)
	w.until(eve, 3, "reply")
	e.finish()
	w.has(eve, 2, "fired")
	equal(t, "lines of reviews", strings.Count(w.read(w.path(home.ReviewRoom("ada"))), "[AGENT:review-ada "), 2)
}

// Not more often than configured, and nothing where nothing comes in.
func TestReviewsAreRare(t *testing.T) {
	t.Parallel()
	w, ada, eve := reviewed(t)
	a, e := w.runBoth(ada, eve, time.Hour)
	w.talkOf(a, 0, 12)
	e.settled()
	a.stop()
	e.stop()
	_, e = w.runBoth(ada, eve, time.Hour)
	w.until(eve, 1, "reply")
	e.finish()
	w.has(eve, 1, "fired")
}

// /forget is for listed people and the reviewer; what they ask for fades, also over a kill.
func TestForgetCommand(t *testing.T) {
	t.Parallel()
	w, ada, _ := reviewed(t)
	reviewer := func(c *Config) { c.Reviewer = "eve" }
	r := w.run(ada, reviewer)
	w.talkOf(r, 0, 6)
	at := time.Now().UTC().Format(time.RFC3339)
	r.ask("/forget everything")                                          // no command
	w.put("dev", fmt.Sprintf("[AGENT:mallory %s] /forget e2..e5\n", at)) // an agent's word
	w.answered("dev", 9)
	w.has(ada, 0, "command")
	w.say("dev", "bob", "/forget e2..e5")
	contains(t, w.answered("dev", 10), "Only these may tell me what to forget: ann, eve.")
	w.say("dev", "ann", "/forget e90..e99")
	contains(t, w.answered("dev", 11), "e90..e99 holds some 0 tokens that can fade")
	w.say("dev", "ann", "/forget e3..e4")
	contains(t, w.answered("dev", 12), "e3..e4 holds some 0 tokens that can fade") // halves of two turns
	r.settled()
	equal(t, "faded", len(w.fold(ada).Faded), 0)
	r.stop()
	w.put("dev", fmt.Sprintf("[AGENT:eve %s] /forget e2..e5\n", at))
	w.run(ada, reviewer, dieAt("command", 1)).killed()
	r = w.run(ada, reviewer)
	w.eventually("it has faded", func() bool { return len(w.events(ada, "fade")) > 0 })
	contains(t, w.answered("dev", 14), "I forget e2..e5, some ")
	w.say("dev", "ann", "/forget e6..e9")
	contains(t, w.answered("dev", 15), "I forget e6..e9")
	w.eventually("all has faded", func() bool { s := w.fold(ada); return len(s.Forgets) == 0 && s.Live[0].N == 10 })
	r.checked()
	s := w.fold(ada)
	for _, f := range s.Faded {
		contains(t, w.original(f.Original.Short), "question")
	}
}
