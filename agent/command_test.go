package agent

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/compactor"
	"lethe/internal/lethetest"
	"lethe/internal/secret"
	"lethe/internal/status"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// waitFor waits until the identity is in a state.
func (r *running) waitFor(state, tool string) {
	r.w.Helper()
	r.w.eventually(state+" "+tool, func() bool {
		s, err := status.Read(r.id.Dir)
		return err == nil && s.State == state && s.Tool == tool
	})
}

// prompt is the newest request's messages, as text.
func (w *world) prompt() string {
	w.Helper()
	asked := w.asked()
	return string(sentOf(w, asked[len(asked)-1].Body).messages)
}

func TestStopInMidCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "first", Fault: rehearsal.Stall, Pace: time.Millisecond, Answer: &rehearsal.Answer{
		Reasoning: "I think.", Text: "never said " + strings.Repeat("and said ", 400)}})
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	r.waitFor(status.Thinking, "")
	w.eventually("half an answer", func() bool { return strings.Contains(status.ReadLive(id.Dir), "and said") })
	equal(t, "answer", w.ask("dev", "/stop"), "Stopped.")
	r.settled()
	w.ask("dev", "hello")
	r.finish()
	equal(t, "commands", len(w.events(id, "command")), 1)
	equal(t, "replies", len(w.events(id, "reply")), 1)
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"the first question", "hello"})
	contains(t, w.prompt(), "ann stopped you here")
	if text := strings.Join(w.said("dev"), "\n"); strings.Contains(text, "never said") {
		t.Errorf("half an answer was posted: %s", text)
	}
	// What had come is kept, and the model knows of it.
	contains(t, w.prompt(), "which was not posted:\\nnever said")
	note := w.events(id, "note")[0]
	kept, err := mind.DecodeAnswer([]byte(w.body(note, 1)))
	lethetest.Must(t, err)
	equal(t, "reasoning", kept.Reasoning, "I think.")
	contains(t, w.body(note, 0), "not posted:\n"+kept.Text)
}

// half is a model that does not come to the end of a long answer.
type half struct {
	text string
	said chan struct{}
}

func (m half) Complete(ctx context.Context, _ llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	on(llm.Delta{Text: m.text, Reasoning: m.text})
	close(m.said)
	<-ctx.Done()
	on(llm.Delta{Reset: true}) // as the client does
	return llm.Reply{}, &llm.Error{Kind: llm.Canceled}
}

// Of a long answer that was stopped the context holds the ends, and a ref to it.
// What was said of a key when the /stop came is not kept.
func TestStopInLongAnswer(t *testing.T) {
	const key = "~k-that-was-cut-off-0123456789"
	secret.Add(key) // one test at a time
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	much := strings.Repeat("much to say ", 10_000)
	m := half{much + key[:20], make(chan struct{})}
	r := w.run(id, func(c *Config) { c.Model = m })
	w.say("dev", "ann", "the first question")
	<-m.said
	equal(t, "answer", w.ask("dev", "/stop"), "Stopped.")
	r.finish()
	text := w.fold(id).Live[2].Text
	contains(t, text, "not posted:\nmuch to say much to say")
	contains(t, text, "all of them: ◱hash=")
	if n := cost(text); n > compactor.MaxResult {
		t.Errorf("the note costs %d tokens", n)
	}
	note := w.events(id, "note")[0]
	for i := range note.Refs {
		contains(t, w.body(note, i), much)
		if strings.Contains(w.body(note, i), key[:8]) {
			t.Error("a part of the key is kept")
		}
	}
}

// An attempt that failed before the /stop does not count.
func TestStopAfterFailedAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Fault: rehearsal.Truncate, Answer: text(strings.Repeat("never said ", 100))}, rehearsal.Step{Fault: rehearsal.Hang})
	w.conf.Model = w.client(llmRetries(1))
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	w.eventually("the second call", func() bool { return len(w.asked()) == 2 })
	equal(t, "answer", w.ask("dev", "/stop"), "Stopped.")
	r.finish()
	equal(t, "blobs of the note", len(w.events(id, "note")[0].Refs), 1)
}

func TestStopInMidTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "first", Answer: calls(
		"BASH", `{"command":"echo began > began.txt; sleep 60"}`, "WRITE_FILE", `{"path":"no.txt","content":"no"}`, "SAY", `{"room":"dev","message":"no"}`)})
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	r.waitFor(status.Acting, "BASH")
	// Lines before the /stop are no longer owed, the one after it is.
	w.say("dev", "ann", "unanswered", "/stop", "hello")
	equal(t, "answer", w.answered("dev", 1), "Stopped.")
	contains(t, w.answered("dev", 2), "ann")
	r.finish()
	var results []string
	for _, e := range w.events(id, "result") {
		results = append(results, e.Arg(0)+" "+e.Arg(1)+" "+e.Get("status"))
	}
	equalSlices(t, "results", results, []string{"e3.1 BASH interrupted", "e3.2 WRITE_FILE not-started", "e3.3 SAY not-started"})
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"the first question", "unanswered", "hello"})
	equal(t, "answers", len(w.said("dev")), 2)
	equal(t, "model calls", len(w.asked()), 2)
	contains(t, w.prompt(), "interrupted, effect unknown")
	stop := w.events(id, "command")[0]
	equal(t, "command", stop.Get("name")+" by "+stop.Get("by"), "/stop by ann")
}

// /stop also ends what is owed while the model cannot be asked.
func TestStopWhenNothingRuns(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	r.settled()
	equal(t, "answer", w.ask("dev", "/stop"), "Nothing to stop.")
	w.say("dev", "ann", "/stop ", "/foo", "/stop now")
	equal(t, "answer", w.answered("dev", 2), "Nothing to stop.")
	w.answered("dev", 3)
	r.finish()
	equalSlices(t, "heard as text", w.heard(id, "dev"), []string{"/foo", "/stop now"})
	equal(t, "model calls", len(w.asked()), 1)
}

func TestStatusDuringTurn(t *testing.T) {
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
		contains(t, line, "ada "+id.Self[:16]+", model rehearsal (offline rehearsal)")
		contains(t, line, "working")
		contains(t, line, "hears dev, ops")
	}
	close(hold)
	equal(t, "the turn went on", w.answered("dev", 1), "late")
	w.answered("ops", 3)
	r.finish()
	equalSlices(t, "heard", w.heard(id, "ops"), []string{"not for the harness"})
	equal(t, "commands", len(w.events(id, "command")), 2)
	equal(t, "model calls", len(w.asked()), 2)
}

func TestModelChanges(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w, id, r := start(t, rehearsal.Step{Contains: "first", Hold: hold})
	w.say("dev", "ann", "the first question")
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	contains(t, w.ask("dev", "/model rehearsal-two"), "model rehearsal-two (it was rehearsal)")
	close(hold)
	w.answered("dev", 2)
	r.settled()
	w.ask("dev", "hello")
	r.finish()
	r = w.run(id)
	w.ask("dev", "hello again")
	r.finish()
	var models []string
	for _, q := range w.asked() {
		models = append(models, sentOf(t, q.Body).rest["model"])
	}
	equalSlices(t, "models", models, []string{`"rehearsal"`, `"rehearsal-two"`, `"rehearsal-two"`})
	epochs := w.events(id, "epoch")
	equal(t, "epoch of the change", epochs[1].Arg(0)+" "+epochs[1].Get("why"), "1 model")
	w.grows(1)
}

// What a room held before an identity came was not meant for it.
func TestCommandsInHistoryAreText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("dev", "ann", "/model another", "/stop", "hello")
	id := w.boot("eve", "dev")
	r := w.run(id)
	w.answered("dev", 1)
	r.settled()
	contains(t, w.ask("dev", "/status"), "model rehearsal")
	r.stop()
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"/model another", "/stop", "hello"})
	equal(t, "commands", len(w.events(id, "command")), 1)
}

// However long a line for the harness is, the log and the status stay small, and
// it is obeyed once, in a room that was edited too.
func TestHugeCommands(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, id, r := start(t)
	r.settled() // what is said before it hears the room is history
	contains(t, w.ask("dev", "/model "+strings.Repeat("x", 1<<20)), "at most 100 bytes")
	w.put("dev", "[USER:ann 2026-11-20T12:57:16Z] /model a\u202eb\n")
	contains(t, w.answered("dev", 2), "I keep the model rehearsal")
	equal(t, "answer", w.ask("dev", "/stop"+strings.Repeat(" ", 1<<20)), "Nothing to stop.")
	r.settled()
	w.rewrite(w.path("dev"), func(s string) string { return "an older line\n" + s })
	w.ask("dev", "hello")
	r.settled()
	if _, err := status.Read(id.Dir); err != nil {
		t.Error(err)
	}
	r.stop()
	equal(t, "commands", len(w.events(id, "command")), 3)
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"hello"})
	equal(t, "model", w.fold(id).Stable.Params.Model, "rehearsal")
	if n := len(w.read(id.LIFE())); n > 20_000 {
		t.Errorf("LIFE has %d bytes", n)
	}
}

// A command is obeyed at once however much stands unread before it, and what was
// said before a /stop and is heard later wakes nobody, after a crash neither.
func TestCommandsBehindMuchUnread(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
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
		w.eventually("a post", func() bool { return len(w.events(id, "posted")) == n })
	}
	w.say("dev", "ann", append(slices.Clone(some), "/status")...)
	posted(1)
	r.cancel()
	lethetest.Must(t, r.wait())
	w.say("dev", "ann", append(slices.Clone(much), "/stop", "hello")...)
	r = w.run(id, dieAt("command", 1))
	r.killed()
	r = w.run(id)
	posted(3)
	r.finish()
	contains(t, w.said("dev")[0], "working")
	equal(t, "answer", w.said("dev")[1], "Stopped.")
	equal(t, "model calls", len(w.asked()), 2)
	equal(t, "commands", len(w.events(id, "command")), 2)
	equalSlices(t, "heard", w.heard(id, "dev"), slices.Concat([]string{"the first question"}, some, much, []string{"hello"}))
	contains(t, w.prompt(), "said before that")
}

// A /stop is found in a room that was replaced by a shorter one, too.
func TestStopInReplacedRoom(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, id, r := start(t, rehearsal.Step{Contains: "first", Fault: rehearsal.Hang})
	w.say("dev", "ann", strings.Repeat("long ", 400_000)+"first")
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	line := "[USER:bob 2026-11-20T12:57:16Z] " + strings.Repeat("a long line ", 4000) + "\n"
	lethetest.Must(t, os.WriteFile(w.path("dev")+"~", []byte(strings.Repeat(line, 40)+"/stop\n"), 0o600))
	lethetest.Must(t, os.Rename(w.path("dev")+"~", w.path("dev")))
	equal(t, "answer", w.answered("dev", 1), "Stopped.")
	r.finish()
	equal(t, "model calls", len(w.asked()), 1)
	equal(t, "heard", len(w.heard(id, "dev")), 41)
	equal(t, "answers", len(w.said("dev")), 1)
}

// A flood of commands in one room is obeyed a few at a time, so that the others
// have their turn, and a /stop behind it is heard at once.
func TestFloodOfCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Contains: "hi", Fault: rehearsal.Hang})
	id := w.boot("ada", "dev", "ops")
	const n = 5 * maxCommands
	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	lethetest.Must(t, a.begin())
	w.say("dev", "ann", slices.Repeat([]string{"/status"}, n)...)
	w.say("ops", "bob", "hi")
	more, err := a.readRooms()
	lethetest.Must(t, err)
	equal(t, "obeyed at once", len(w.events(id, "command")), maxCommands)
	equalSlices(t, "heard", w.heard(id, "ops"), []string{"hi"})
	equal(t, "more follows", more, true)
	lethetest.Must(t, a.Close())

	r := w.run(id)
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	w.say("dev", "ann", append(slices.Repeat([]string{"/status"}, n), "/stop")...)
	w.eventually("Stopped.", func() bool { return slices.Contains(w.said("dev"), "Stopped.") })
	r.finish()
	equal(t, "commands", len(w.events(id, "command")), 2*n+1)
	equal(t, "answers", len(w.said("dev")), 2*n+1)
}

// In a room that was replaced by a shorter file no command is taken for what was
// said before the identity came, whatever is heard there first.
func TestCommandsInReplacedRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("dev", "eve", slices.Repeat([]string{"a line of the past"}, 100)...)
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.answered("dev", 1)
	r.settled()
	lines := strings.SplitAfter(strings.TrimSuffix(w.read(w.path("dev")), "\n"), "\n")
	own := lines[len(lines)-1] + "\n"
	commands := 0
	for _, first := range []string{"", own} {
		lethetest.Must(t, os.Remove(w.path("dev")))
		w.shows(id, "the room is gone", func(s status.Status) bool { return s.Heard["dev"] == 0 }) // or who writes now would take it for heard
		w.put("dev", first)
		w.shows(id, "its size is heard", func(s status.Status) bool { return s.Heard["dev"] == int64(len(first)) })
		for range 2 {
			commands++
			w.say("dev", "ann", "/status")
			w.eventually("a command", func() bool { return len(w.events(id, "command")) == commands })
			r.settled()
		}
	}
	r.stop()
}
