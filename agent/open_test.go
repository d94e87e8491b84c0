package agent

import (
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// openOf are the ids of the questions that are open, by the log.
func (w *world) openOf(id home.Identity) (ids string) {
	for _, q := range w.fold(id).Questions {
		ids += q.ID
	}
	return ids
}

// times is how often a room or a log has a text.
func (w *world) times(path, text string) int { return strings.Count(w.read(path), text) }

// waiting runs an identity until its question in room dev stands.
func (w *world) waiting() (id home.Identity, r *running, q chat.Question) {
	id = w.boot("ada", "dev")
	r = w.run(id)
	q = r.asks("ask")
	return id, r, q
}

// An objection in free words is an objection: to a question, and to a call that is to be approved, whatever else was said.
func TestObjection(t *testing.T) {
	t.Parallel()
	w := asking(t, "BASH rm *", waits("ask", deploy), on("tidy", calls("BASH", `{"command":"rm x"}`)))
	id, r, q := w.waiting()
	r.tell("No, wait: keep it, I changed my mind.")
	equal(t, "choice", w.having(id, "inbound", "answers", q.ID)[0].Get("choice"), "no")
	q = r.asks("tidy up")
	r.tell("what is in it?")
	r.tell("no — leave it")
	equal(t, "choice about the call", w.having(id, "inbound", "answers", q.ID)[0].Get("choice"), mind.No)
	w.has(id, 0, "run")
	r.checked()
}

// A bare word is consent only while who says it has said nothing else there, whatever is killed when. Who says it is told once
// what to write, and the identity that the question is open.
func TestBareWordIsNoConsent(t *testing.T) {
	t.Parallel()
	w := asking(t, "BASH rm *", on("tidy", calls("BASH", `{"command":"rm -f x; echo gone"}`)))
	id, r := w.ada()
	q := r.asks("tidy up")
	r.tell("Keep the inventory. And is it raining?")
	contains(t, w.prompt(), q.ID+" (May I call BASH?")
	r.stop()
	w.say("dev", "ann", "once")
	for _, kind := range []string{"inbound", "posted"} {
		w.dies(id, kind, 1)
	}
	r = w.run(id)
	r.settled()
	equal(t, "open", w.openOf(id), q.ID)
	w.has(id, 0, "run")
	equal(t, "told", w.times(w.path("dev"), "If that is an answer, write: "+q.ID+" once"), 1)
	equal(t, "what the error is", len(w.having(id, "error", "what", "answer")), 1)
	contains(t, w.prompt(), "people are told: If that is an answer, write: "+q.ID+" once")
	w.talk(3, 1)
	r.settled()
	w.has(id, 5, "note", "why", "open") // one for each line
	w.say("dev", "bob", "once")         // who has said nothing else
	w.until(id, 1, "note", "run", q.ID)
	r.settled()
	equal(t, "open in the end", w.openOf(id), "")
	r.checked()
}

// Nor is a bare word consent behind another line of the same person in one go, behind one of long ago or one that nobody
// has signed, and not in a room that was edited: there nobody knows what was said before. With the id it is.
func TestBareWordBehindOthers(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(w *world, r *running){
		"in one go": func(w *world, _ *running) { w.say("dev", "bob", "the tests are red") },
		"an edited room": func(w *world, _ *running) {
			w.write(w.path("dev"), "[USER:ann 2026-11-20T12:57:16Z] a line more\n"+w.read(w.path("dev")))
		},
		"unsigned": func(w *world, _ *running) { w.put("dev", "keep it\n") },
		"far behind": func(w *world, r *running) {
			r = w.run(r.id)
			w.say("dev", "bob", "keep it")
			r.settled()
			r.stop()
			for range 20 {
				w.say("dev", "carol", strings.Repeat("all is well ", 5500))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asking(t, "", waits("ask", deploy))
			id, r, q := w.waiting()
			r.stop()
			before(w, r)
			w.say("dev", "bob", "yes")
			r = w.run(id)
			r.settled()
			equal(t, "open", w.openOf(id), q.ID)
			w.say("dev", "bob", q.ID+" yes")
			r.settled()
			equal(t, "open in the end", w.openOf(id), "")
			r.checked()
		})
	}
}

// An identity withdraws a question: nobody answers it any more, and its turn goes on. A kill leaves it open or closed.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, waits("ask", deploy))
	w.conf.People = []string{"ann"}
	id, r, q := w.waiting()
	w.model.Push(rehearsal.Step{Contains: "never mind", Times: 2, Answer: calls("WAIT", `{"withdraw":"`+q.ID+`"}`)},
		waits("strange", `{"withdraw":"q000000"}`), always("done"))
	r.tell("strange")
	equal(t, "open", w.openOf(id), q.ID)
	r.stop()
	w.say("dev", "ann", "never mind")
	for _, kind := range []string{"call", "result"} {
		w.dies(id, kind, 1)
	}
	r = w.run(id)
	r.settled()
	equal(t, "the turn goes on", w.said("dev")[len(w.said("dev"))-1], "done")
	if len(w.having(id, "result", "withdrawn", q.ID)) == 0 { // it died before that
		r.ask("never mind, I said")
		r.settled()
	}
	equal(t, "open in the end", w.openOf(id), "")
	r.tell(q.ID + " yes")
	w.has(id, 0, "inbound", "answers", q.ID)
	r.checked()
}

// A question whose turn has faded stands where the past begins, from the epoch on in which it faded; an answer comes with a hint
// at the range. Free words count where the options say so.
func TestOpenQuestionFades(t *testing.T) {
	t.Parallel()
	w := asking(t, "", waits("ask", `{"question":"Amber or blue?","options":"amber|blue|other…"}`))
	id, r := w.ada()
	w.say("dev", "bob", "ask")
	q := w.question("dev", 1)
	r.settled()
	for range 12 {
		w.remarks++
		n := len(w.said("dev"))
		w.say("dev", "carol", remark(w.remarks, 20))
		w.answered("dev", n+1)
	}
	r.settled()
	r.compact()
	s := w.fold(id)
	asked := s.Questions[0].Call
	n, _, err := mind.ParseID(asked)
	lethetest.Must(t, err)
	if s.Entry(n) != nil {
		t.Fatal("the question has not faded")
	}
	begins := "◆ past\n" + q.ID + " is still open, asked in " + mind.EntryID(n) + " in room dev: ◱hash=" + q.ID[1:]
	if !strings.HasPrefix(s.Stable.Past, begins) {
		t.Errorf("the past begins %.200q, want %q", s.Stable.Past, begins)
	}
	w.say("dev", "ann", "amber, but only for act one")
	w.eventually("it is answered", func() bool { return w.openOf(id) == "" })
	r.settled()
	answer := w.having(id, "inbound", "answers", q.ID)[0]
	equal(t, "choice", answer.Get("choice"), "")
	hints := w.having(id, "hint", "why", "answer")
	equal(t, "hints", len(hints), 1)
	held := false
	for _, f := range s.Faded {
		held = held || f.From <= n && n <= f.To && f.Original.Hash.String() == hints[0].Get("ref")
	}
	equal(t, "it names the range", held, true)
	if !strings.HasPrefix(w.fold(id).Stable.Past, begins) {
		t.Error("an answer changed the beginning of the request")
	}
	r.checked()
}

// An approval waits for a week, or as long as is said. Then it is a no, and its word comes too late, even to a daemon that
// did not run at the end.
func TestApprovalEnds(t *testing.T) {
	t.Parallel()
	w := asking(t, "BASH rm *",
		on("tidy", calls("BASH", `{"command":"rm x"}`)),
		on("clear", calls("BASH", `{"command":"rm y"}`)))
	id, r := w.ada()
	w.say("dev", "ann", "tidy up")
	first := w.question("dev", 1)
	const week = 7 * 24 * time.Hour
	if left := time.Until(first.Until); left > week || left < week-time.Hour {
		t.Errorf("it waits until %s", first.Until)
	}
	r.settled()
	r = r.again(func(c *Config) { c.AskTime = 2 * time.Second })
	w.say("dev", "ann", "clear it")
	second := w.question("dev", 2)
	if left := time.Until(second.Until); left > 2*time.Second {
		t.Errorf("it waits until %s, for %s", second.Until, left)
	}
	r.stop()
	time.Sleep(time.Until(second.Until) + time.Second) // a line tells its second
	w.say("dev", "ann", second.ID+" once")
	r = w.run(id)
	w.eventually("people are told", func() bool {
		return strings.Contains(w.read(w.path("dev")), "nobody answered "+second.ID)
	})
	contains(t, w.read(w.path("dev")), "no consent: May I call BASH?")
	r.settled()
	equal(t, "calls that ran", len(w.events(id, "run")), 0)
	open := w.fold(id).Questions
	equal(t, "open questions", len(open), 1)
	equal(t, "the first waits on", open[0].Until, first.Until)
	r.checked()
}

// A WAIT for somebody whom nobody knows says so.
func TestUnknownIsNotAsked(t *testing.T) {
	t.Parallel()
	w := asking(t, "", waits("ask carla", `{"question":"Well?","for":"carla"}`), waits("ask Carol", `{"question":"Well?","for":"Carol bob"}`))
	id, r := w.ada()
	w.say("dev", "carol", "hello")
	r.settled()
	r.ask("ask carla")
	r.settled()
	contains(t, w.results(id)[0].text, `nobody in room dev knows "carla"`)
	q := r.asks("ask Carol")
	w.say("dev", "carol", "fine")
	r.settled()
	w.has(id, 1, "inbound", "answers", q.ID)
	r.checked()
}

// A WAIT that withdraws asks nothing.
func TestWithdrawAsksNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, waits("ask", deploy), waits("odd", `{"question":"never mind","withdraw":"none"}`), rehearsal.Step{Answer: text("done")})
	w.conf.People = []string{"ann"}
	id, r, q := w.waiting()
	w.model.Push(waits("no longer", `{"question":"Deploy?","withdraw":"`+q.ID+`"}`), always("done"))
	r.tell("odd")
	equal(t, "open", w.openOf(id), q.ID)
	r.tell("no longer")
	equal(t, "open in the end", w.openOf(id), "")
	r.finish()
}

// Lines of two who were asked leave both questions open.
func TestBothStillOpen(t *testing.T) {
	t.Parallel()
	w := asking(t, "", waits("ask ann", `{"question":"Red?","options":"yes|no","for":"ann"}`),
		waits("ask bob", `{"question":"Blue?","options":"yes|no","for":"bob"}`))
	id, r := w.ada()
	w.say("dev", "carol", "ask ann")
	q := w.question("dev", 1)
	r.settled()
	w.say("dev", "carol", "ask bob")
	p := w.question("dev", 2)
	r.settled()
	r.stop()
	w.say("dev", "ann", "hm, which red")
	w.say("dev", "bob", "hm, which blue")
	r = w.run(id)
	r.settled()
	contains(t, w.prompt(), q.ID+" (Red?), "+p.ID+" (Blue?) is still open.")
	r.finish()
}
