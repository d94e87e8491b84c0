package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// half is a model that does not come to the end of its first answer, of which it
// makes two attempts.
type half struct {
	Model
	text string
	said chan struct{}
	once sync.Once
}

func (m *half) Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (reply llm.Reply, err error) {
	first := false
	m.once.Do(func() { first = true })
	if !first {
		return m.Model.Complete(ctx, r, on)
	}
	on(llm.Delta{Text: "failed", Reasoning: "failed"})
	on(llm.Delta{Reset: true}) // as the client does
	on(llm.Delta{Text: m.text, Reasoning: "I think."})
	close(m.said)
	<-ctx.Done()
	on(llm.Delta{Reset: true})
	return llm.Reply{}, &llm.Error{Kind: llm.Canceled}
}

// A /stop ends a call. What had come of a long answer is kept and not posted: the context
// holds its ends, and a ref to it. What was said of a key when the /stop came is not kept.
func TestStopInMidCall(t *testing.T) {
	const key = "~k-that-was-cut-off-0123456789"
	secret.Add(key) // one test at a time
	t.Parallel()
	w := newWorld(t)
	much := strings.Repeat("much to say ", 10_000)
	m := &half{Model: w.conf.Model, text: much + key[:20], said: make(chan struct{})}
	w.conf.Model = m
	r := w.run(w.boot("ada", "dev"))
	w.say("dev", "ann", "the first question")
	<-m.said
	equal(t, "answer", r.ask("/stop"), "Stopped.")
	contains(t, r.ask("hello"), "ann")
	r.finish()
	w.has(r.id, 1, "command")
	w.has(r.id, 1, "reply")
	equal(t, "answers", len(w.said("dev")), 2)
	equalSlices(t, "heard", w.heard(r.id, "dev"), []string{"the first question", "hello"})
	contains(t, w.prompt(), "ann stopped you here")
	contains(t, w.prompt(), "which was not posted:\\n    much to say much to say")
	shown := w.fold(r.id).Live[2].Text
	contains(t, shown, " shows them: ◱hash=")
	if n := (&llm.Estimator{}).Tokens(llm.Weight(shown)); n > compactor.MaxResult {
		t.Errorf("the note costs %d tokens", n)
	}
	note := w.events(r.id, "note")[0]
	kept, err := mind.DecodeAnswer([]byte(w.body(note, 1)))
	lethetest.Must(t, err)
	equal(t, "reasoning", kept.Reasoning, "I think.")
	for i := range note.Refs {
		contains(t, w.body(note, i), much)
		if strings.Contains(w.body(note, i), key[:8]) {
			t.Error("a part of the key is kept")
		}
	}
}

func TestStopInMidTool(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, on("first", calls(
		"BASH", `{"command":"echo began > began.txt; sleep 60"}`, "WRITE_FILE", `{"path":"no.txt","content":"no"}`, "SAY",
		`{"room":"dev","message":"no"}`)))
	w.say("dev", "ann", "the first question")
	r.waitFor(status.Acting, "BASH")
	// Lines before the /stop are no longer owed, the one after it is.
	w.say("dev", "ann", "unanswered", "/stop", "hello")
	equal(t, "answer", w.answered("dev", 1), "Stopped.")
	contains(t, w.answered("dev", 2), "ann")
	r.finish()
	var results []string
	for _, res := range w.results(id) {
		results = append(results, res.call+" "+res.status)
	}
	equalSlices(t, "results", results, []string{"e3.1 BASH interrupted", "e3.2 WRITE_FILE not-started", "e3.3 SAY not-started"})
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"the first question", "unanswered", "hello"})
	equal(t, "answers", len(w.said("dev")), 2)
	equal(t, "model calls", len(w.asked()), 2)
	contains(t, w.prompt(), "interrupted, effect unknown")
	stop := w.events(id, "command")[0]
	equal(t, "command", stop.Get("name")+" by "+stop.Get("by"), "/stop by ann")
}

// Commands are obeyed while the model thinks, once, and are not for the model. Another
// model is used from the next turn on, in a new epoch.
func TestCommandsDuringTurn(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w := newWorld(t, rehearsal.Step{Contains: "first", Hold: hold, Answer: text("late")})
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	w.say("ops", "bob", "not for the harness", "/status", "/status")
	w.answered("ops", 2)
	for _, line := range w.said("ops") {
		for _, part := range []string{"ada " + id.Self[:16] + ", model rehearsal (offline rehearsal)", "working", "hears dev, ops"} {
			contains(t, line, part)
		}
	}
	contains(t, w.ask("dev", "/model rehearsal-two"), "model rehearsal-two; /model rehearsal brings the one before back.")
	close(hold)
	equal(t, "the turn went on", w.answered("dev", 2), "late")
	w.answered("ops", 3)
	r.settled()
	r = r.again()
	r.ask("hello")
	r.stop()
	equalSlices(t, "heard", w.heard(id, "ops"), []string{"not for the harness"})
	w.has(id, 3, "command")
	equal(t, "model calls", len(w.asked()), 3)
	for i, q := range w.requests() {
		equal(t, "model", q.rest["model"], []string{`"rehearsal"`, `"rehearsal-two"`}[min(i, 1)])
	}
	w.has(id, 1, "epoch", "why", "model")
	w.stable(w.requests()[1:])
}

// A model is tried before it is kept: one that the endpoint refuses, or that has no price under a budget, is not used;
// where nobody answers, that is said. A try is in LIFE, and paid.
func TestModelIsTried(t *testing.T) {
	t.Parallel()
	is := func(name string) func(*rehearsal.Request) bool {
		return func(r *rehearsal.Request) bool { return r.Model == name }
	}
	w := newWorld(t, rehearsal.Step{Match: is("rehearsal-typo"), Times: -1, Status: 400, Body: `{"error":{"message":"Model Not Exist"}}`},
		rehearsal.Step{Match: is("rehearsal-away"), Times: -1, Status: 503})
	frugal(&w.conf, budget.Limits{HomeDay: 1e6})
	for _, name := range []string{"typo", "away", "two"} {
		w.conf.Known["rehearsal-"+name] = paid
	}
	id, r := w.ada()
	r.ask("hello")
	for _, c := range []struct{ name, says, then string }{
		{"rehearsal-typo", "I tried the model rehearsal-typo, and keep the model rehearsal-paid: ", "rehearsal-paid"},
		{"rehearsal-costly", "keep the model rehearsal-paid: the model has no price: rehearsal-costly", "rehearsal-paid"},
		{"rehearsal-two", "From the next turn on I use the model rehearsal-two; /model rehearsal-paid brings the one before " +
			"back.", "rehearsal-two"},
		{"rehearsal-away", "brings the one before back. I could not try it: call rehearsal-away at ", "rehearsal-away"},
	} {
		said := r.ask("/model " + c.name)
		contains(t, said, c.says)
		equal(t, "tried in vain", strings.Contains(said, "I could not try it"), c.name == "rehearsal-away")
		if c.name != "rehearsal-away" {
			r.ask("hello")
		}
		r.settled()
		equal(t, "model", cmp.Or(w.fold(id).WantModel, w.fold(id).Stable.Params.Model), c.then)
	}
	r.finish()
	w.billed(id)
	w.has(id, 3, "spent", "on", "model")
	if got := w.spending(id).Spent.Life; got < w.dollars() {
		t.Errorf("%s are in the log, %s were billed", got, w.dollars())
	}
}

// What a room held before an identity came was not meant for it, and what only
// looks like a command is text.
func TestCommandsAndText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("dev", "ann", "/model another", "/stop", "hello")
	id := w.boot("eve", "dev")
	r := w.run(id)
	w.answered("dev", 1)
	r.settled()
	contains(t, r.ask("/status"), "model rehearsal")
	w.say("dev", "ann", "/stop ", "/foo", "/stop now")
	equal(t, "answer", w.answered("dev", 3), "Nothing to stop.")
	w.answered("dev", 4)
	r.finish()
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"/model another", "/stop", "hello", "/foo", "/stop now"})
	w.has(id, 2, "command")
	equal(t, "model calls", len(w.asked()), 2)
}

// However long a line for the harness is, the log and the status stay small, and
// it is obeyed once, in a room that was edited too.
func TestHugeCommands(t *testing.T) {
	slow(t)
	w, id, r := start(t)
	r.settled() // what is said before it hears the room is history
	contains(t, r.ask("/model "+strings.Repeat("x", 1<<20)), "at most 100 bytes")
	w.put("dev", "[USER:ann 2026-11-20T12:57:16Z] /model a\u202eb\n")
	contains(t, w.answered("dev", 2), "I keep the model rehearsal")
	equal(t, "answer", r.ask("/stop"+strings.Repeat(" ", 1<<20)), "Nothing to stop.")
	w.rewrite(w.path("dev"), func(s string) string { return "an older line\n" + s })
	r.ask("hello")
	w.status(id)
	r.stop()
	w.has(id, 3, "command")
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"hello"})
	equal(t, "model", w.fold(id).Stable.Params.Model, "rehearsal")
	if n := len(w.read(id.LIFE())); n > 20_000 {
		t.Errorf("LIFE has %d bytes", n)
	}
}

// A command is obeyed at once however much stands unread before it, and what was
// said before a /stop and is heard later wakes nobody, after a crash neither.
func TestCommandsBehindMuchUnread(t *testing.T) {
	slow(t)
	w := newWorld(t, rehearsal.Step{Contains: "first", Fault: rehearsal.Stall, Answer: text("never said")})
	names := []string{"dev"}
	for i := range compactor.MaxEntries {
		names = append(names, fmt.Sprintf("room%d", i)) // so that one look takes in only compactor.MaxEntry bytes of dev
	}
	id := w.boot("ada", names...)
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	for _, room := range names[1:] {
		w.say(room, "bob", "hi")
	}
	much := slices.Repeat([]string{strings.Repeat("a long line ", 4000)}, compactor.MaxEntry/40_000)
	some := much[:len(much)/2]
	posted := func(n int) { // without reading the room all the time
		w.until(id, n, "posted")
	}
	w.say("dev", "ann", append(slices.Clone(some), "/status")...)
	posted(1)
	r.stop()
	w.say("dev", "ann", append(slices.Clone(much), "/stop", "hello")...)
	w.dies(id, "command", 1)
	r = w.run(id)
	posted(3)
	r.finish()
	contains(t, w.said("dev")[0], "working")
	equal(t, "answer", w.said("dev")[1], "Stopped.")
	equal(t, "model calls", len(w.asked()), 2)
	w.has(id, 2, "command")
	equalSlices(t, "heard", w.heard(id, "dev"), slices.Concat([]string{"the first question"}, some, much, []string{"hello"}))
	contains(t, w.prompt(), "said before that")
}

// A flood of commands in one room is obeyed, each once.
func TestFloodOfCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Contains: "hi", Fault: rehearsal.Hang})
	id := w.boot("ada", "dev", "ops")
	const n = 80
	w.run(id).finish()
	w.say("dev", "ann", slices.Repeat([]string{"/status"}, n)...)
	w.say("ops", "bob", "hi")
	r := w.run(id)
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	w.say("dev", "ann", append(slices.Repeat([]string{"/status"}, n), "/stop")...)
	w.eventually("Stopped.", func() bool { return slices.Contains(w.said("dev"), "Stopped.") })
	r.finish()
	w.has(id, 2*n+1, "command")
	equal(t, "answers", len(w.said("dev")), 2*n+1)
}
