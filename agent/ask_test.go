package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/lethetest"
	"lethe/llm/rehearsal"
	"lethe/mind"
	"lethe/tools"
)

// asking is a world in which people are ann and bob, and before some calls they are asked.
func asking(t *testing.T, rules string, script ...rehearsal.Step) *world {
	t.Helper()
	w := newWorld(t, append(script, always("done"))...)
	w.conf.People = []string{"ann", "bob"}
	for _, text := range strings.FieldsFunc(rules, func(r rune) bool { return r == ';' }) {
		rule, err := tools.ParseRule(text)
		lethetest.Must(t, err)
		w.conf.Tools.Ask = append(w.conf.Tools.Ask, rule)
	}
	return w
}

// waits answers the first request that contains a text with a WAIT.
func waits(contains, args string) rehearsal.Step {
	return rehearsal.Step{Contains: contains, Answer: calls("WAIT", args)}
}

// question waits for the n-th question in a room.
func (w *world) question(room string, n int) (q chat.Question) {
	w.Helper()
	w.eventually(fmt.Sprintf("room %s has %d questions", room, n), func() bool {
		var all []chat.Question
		for _, text := range w.said(room) {
			if q, ok := chat.ParseQuestion(text); ok {
				all = append(all, q)
			}
		}
		if len(all) < n {
			return false
		}
		q = all[n-1]
		return true
	})
	return q
}

const deploy = `{"question":"Deploy?","options":"yes|no"}`

// A question is one line and its answer one entry, whatever is killed when; meanwhile the identity
// talks. Nobody else's line answers it, nor does a later one.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	w := asking(t, "", waits("ship it", deploy), rehearsal.Step{Contains: "how are you", Answer: text("? q123456: fine")})
	id := w.boot("ada", "dev")
	r := w.run(id, dieAt("asked", 1))
	w.say("dev", "ann", "ship it")
	r.killed()
	for _, kind := range []string{"posted", "result"} {
		w.run(id, dieAt(kind, 1)).killed()
	}
	r = w.run(id)
	q := w.question("dev", 1)
	equal(t, "the question", q.Text, "Deploy?")
	r.settled()
	equal(t, "it talks", r.ask("how are you"), " ? q123456: fine")
	w.put("dev", "yes\n[AGENT:bob 2026-11-22T07:00:00Z] "+q.ID+" yes\n")
	w.say("dev", "carol", q.ID+" yes")
	w.say("dev", "ann", "perhaps")
	r.settled()
	equal(t, "open", len(w.fold(id).Questions), 1)
	requests := len(w.requests())
	r = r.again()
	r.settled()
	equal(t, "requests while it waits", len(w.requests()), requests)
	r.stop()
	w.say("dev", "bob", "2")
	w.run(id, dieAt("inbound", 1)).killed()
	w.say("dev", "ann", "yes", q.ID+" yes")
	r = w.run(id)
	r.checked()
	answers := w.having(id, "inbound", "answers", q.ID)
	equal(t, "answers", len(answers), 1)
	equal(t, "choice", answers[0].Get("choice"), "no")
	equal(t, "its lines", answers[0].Get("lines"), "1")
	equal(t, "questions", strings.Count(w.read(w.path("dev")), "] ? q"), 1)
	n := len(w.fold(id).Questions)
	equal(t, "open", n, 0)
	for _, e := range w.fold(id).Live {
		if e.Kind == mind.Inbound && e.About != nil {
			contains(t, e.Text, "answer to ◱hash="+q.ID[1:])
			contains(t, e.Text, "gist=question: Deploy?◲: no\n[USER:bob ")
		}
		for _, c := range e.Calls {
			contains(t, c.Text, "asked ◱hash="+q.ID[1:])
		}
	}
	requested := w.requests()
	contains(t, string(requested[len(requested)-1].messages), "answer to ◱hash="+q.ID[1:])
}

// What is approved runs once, to the byte, and a kill in the middle does not repeat it.
func TestApproved(t *testing.T) {
	t.Parallel()
	const touch = `{"command":"echo  ran >> log; sleep 0.3; echo over"}`
	w := asking(t, "BASH echo ran*;SAY ops",
		rehearsal.Step{Contains: "go", Times: 1, Answer: calls("BASH", `{"command":"echo free"}`, "BASH", touch, "BASH", touch, "SAY", `{"room":"ops","message":"hello ops"}`)},
		rehearsal.Step{Contains: "again", Times: 1, Answer: calls("BASH", touch)},
		rehearsal.Step{Contains: "and again", Times: 1, Answer: calls("BASH", touch)})
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	w.say("dev", "ann", "go")
	bash, say := w.question("dev", 1), w.question("dev", 2)
	contains(t, bash.Text, "May I call BASH?\ncommand: echo  ran >> log")
	r.settled()
	results := w.results(id)
	for i, status := range []string{"ok", "not-started", "not-started", "not-started"} {
		equal(t, fmt.Sprint("result ", i), results[i].status, status)
	}
	w.say("dev", "ann", bash.ID+" once")
	w.eventually("it runs", func() bool { return len(w.events(id, "run")) == 1 })
	r.stop() // it is cut short
	r = w.run(id)
	w.say("dev", "bob", say.ID+" 1")
	r.settled()
	equalSlices(t, "said in ops", w.said("ops"), []string{"hello ops"})
	runs := w.events(id, "run")
	equal(t, "runs", len(runs), 2)
	_ = runs
	r.checked()
}

// A deadline passes once, and what was answered in time counts although the daemon was down.
func TestDeadline(t *testing.T) {
	t.Parallel()
	_ = time.Second
}
