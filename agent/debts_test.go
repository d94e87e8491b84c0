package agent

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/internal/durable"
	"lethe/internal/test/rehearsal"
)

// A line that was heard and not answered is answered at resume.
func TestAnswerIsOwed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"inbound", "reply"} {
		w := newWorld(t, always("the answer"))
		id := w.boot("ada", "dev")
		w.say("dev", "ann", "a question")
		w.dies(id, kind, 1)
		equal(t, "answers before the resume", len(w.said("dev")), 0)
		w.run(id).finish()
		equalSlices(t, "answers when killed at "+kind, w.said("dev"), []string{"the answer"})
		w.has(id, 1, "inbound")
		equal(t, "model calls", len(w.asked()), 1) // the reply that was recorded is not asked for again
	}
}

// Calls that had started are interrupted, the others were not started.
func TestResultsAreOwed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Answer: calls(
		"BASH", `{"command":"echo one >> ran.txt"}`, "BASH", `{"command":"echo two >> ran.txt"}`, "LIST", `{"path":"."}`)})
	id := w.boot("ada", "dev")
	w.say("dev", "ann", "do three things")
	// The second intent comes with the first result.
	w.dies(id, "call", 2)
	w.run(id).finish()
	results := w.results(id)
	equal(t, "results", len(results), 3)
	for i, want := range []result{{"e3.1 BASH", "ok", ""}, {"e3.2 BASH", "interrupted", "interrupted, effect unknown"},
		{"e3.3 LIST", "not-started", "not started"}} {
		equal(t, "call", results[i].call+" "+results[i].status, want.call+" "+want.status)
		contains(t, results[i].text, want.text)
	}
	equal(t, "what ran", w.read(w.own(id, "workspace/ran.txt")), "one\n")
}

// A final reply that did not reach the room reaches it once, whether or not the
// append that was reported as failed had happened, and is never heard as a message.
func TestPostIsOwed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op    string
		stage durable.Stage
		cause error
	}{
		{"append", durable.Before, syscall.EIO}, {"append", durable.After, syscall.EIO},
		{"append", durable.Before, &durable.Short{Bytes: 40, Err: syscall.ENOSPC}},
		{"sync", durable.Before, syscall.EIO}, {"sync", durable.After, syscall.EIO},
	} {
		w := newWorld(t, rehearsal.Step{Answer: text("the answer")})
		id := w.boot("ada", "dev")
		w.say("dev", "ann", "a question")
		mended := w.failRoom("dev", c.op, c.stage, c.cause)
		r := w.run(id)
		r.waits("dev")
		r.stop()
		mended()
		r = w.run(id)
		w.eventually("the answer", func() bool { return slices.Contains(w.said("dev"), "the answer") })
		r.finish()
		what := fmt.Sprint(c)
		equalSlices(t, what, unbroken(w.said("dev")), []string{"the answer"})
		equalSlices(t, "heard after "+what, w.heard(id, "dev"), []string{"a question"})
		w.has(id, 1, "posted")
	}
}

// waits waits until a line waits for a room that cannot be written.
func (r *running) waits(room string) {
	r.w.Helper()
	r.w.shows(r.id, "a line waits for room "+room, func(s status.Status) bool {
		return slices.ContainsFunc(s.Trouble, func(t string) bool { return strings.HasPrefix(t, "room "+room+" cannot be written") })
	})
}

// failRoom fails the next step of a kind on a room, and then all of that room until mended is called.
func (w *world) failRoom(room, op string, stage durable.Stage, cause error) (mended func()) {
	failed := false
	return (&badDisk{fails: func(at durable.Stage, what, path string) error {
		switch {
		case path != w.path(room):
			return nil
		case failed:
			return syscall.EIO
		case at == stage && what == op:
			failed = true
			return cause
		}
		return nil
	}}).put(w)
}

// A SAY is known to have happened, because resume makes it happen.
func TestSayIsOwed(t *testing.T) {
	t.Parallel()
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		w := newWorld(t, rehearsal.Step{Answer: calls("SAY", `{"room":"#ops","message":"half way"}`, "SAY",
			`{"room":"ops","message":"half way"}`)})
		id := w.boot("ada", "dev", "ops")
		w.say("dev", "ann", "report")
		mended := w.failRoom("ops", "append", stage, syscall.EIO)
		w.dies(id, "call", 1)
		r := w.run(id)
		r.waits("ops")
		mended()
		w.answered("dev", 1)
		r.finish()
		equalSlices(t, "ops after a post that failed "+string(stage), w.said("ops"), []string{"half way"})
		results := w.results(id)
		equal(t, "results", len(results), 2)
		equal(t, "of the first SAY", results[0].status, "ok")
		contains(t, results[0].text, "room ops cannot be written now")
		equal(t, "of the second SAY", results[1].status, "not-started")
	}
}

// A SAY that was refused before the daemon died is not taken for said: neither where the turn had said something in the
// room, nor where people had approved it.
func TestRefusedSayIsNotSaid(t *testing.T) {
	t.Parallel()
	const one, two = `{"room":"ops","message":"one"}`, `{"room":"ops","message":"two","files":"missing.txt"}`
	for rule, dies := range map[string]func(w *world, id home.Identity){
		"": func(w *world, id home.Identity) {
			w.hook("call/guard", `grep -q two && exit 2; true`)
			w.say("dev", "ann", "say both")
			w.dies(id, "call", 2)
		},
		"SAY": func(w *world, id home.Identity) {
			r := w.run(id)
			q := r.asks("say it")
			r.stop()
			w.say("dev", "ann", q.ID+" once")
			w.dies(id, "run", 1)
		},
	} {
		w := asking(t, rule, on("say both", calls("SAY", one, "SAY", two)), on("say it", calls("SAY", two)))
		id := w.boot("ada", "dev", "ops")
		dies(w, id)
		r := w.run(id)
		r.settled()
		contains(t, w.prompt(), "not done, since the daemon stopped first")
		r.stop()
	}
}

// What a torn post left behind stays as its own line and is nobody's message, and
// the post comes whole, behind what somebody has said meanwhile.
func TestTornPost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("the whole answer"))
	id := w.boot("ada", "dev")
	w.say("dev", "ann", "a question")
	w.dies(id, "reply", 1)
	line := w.fold(id).Outbox[0].Line
	w.put("dev", line[:len(line)-8]+"\n[USER:ann 2026-11-20T12:57:16Z] meanwhile\n")
	w.run(id).finish()
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"a question", "meanwhile"})
	equal(t, "model calls", len(w.asked()), 2)
	equal(t, "whole lines", strings.Count(w.read(w.path("dev")), "the whole answer\n"), 2)
}
