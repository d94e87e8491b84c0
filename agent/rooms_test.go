package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/lethetest"
	"lethe/llm"
	"lethe/llm/rehearsal"
)

// What comes in during a turn is heard before the next call, behind the unit.
func TestLinesDuringTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "first", Answer: calls("BASH", `{"command":"while [ ! -e go ]; do sleep 0.02; done"}`, "LIST", `{"path":"."}`)})
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	r.waitFor("acting", "BASH")
	w.say("dev", "ann", "a second line", "a third line")
	w.say("ops", "bob", "a fourth line")
	lethetest.Must(t, os.WriteFile(w.own(id, "workspace/go"), nil, 0o600))
	w.answered("dev", 1)
	w.answered("ops", 1)
	r.finish()
	equal(t, "model calls", len(w.asked()), 2)
	last := w.prompt()
	for _, part := range []string{"a second line", "a third line", "a fourth line"} {
		contains(t, last, part)
		if strings.Index(last, part) < strings.Index(last, `"tool_call_id":"e4_2"`) {
			t.Errorf("%q stands inside a unit", part)
		}
	}
}

// A flood becomes a few entries of bounded size, and each line is heard once.
func TestFlood(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, rehearsal.Step{Times: -1, Answer: text("I saw it.")})
	r.settled()
	var want []string
	for i := range 2000 {
		want = append(want, fmt.Sprintf("line %d of a flood that is long enough to be a bother", i))
	}
	w.say("dev", "ann", want...)
	w.answered("dev", 1)
	r.finish()
	equalSlices(t, "heard", w.heard(id, "dev"), want)
	w.bounded(id)
	if n := len(w.events(id, "inbound")); n > 3*compactor.MaxEntries {
		t.Errorf("the flood became %d entries", n)
	}
}

// bounded checks that no request is longer than what two batches or units may be.
func (w *world) bounded(id Identity) {
	w.Helper()
	for i, q := range w.asked() {
		equal(w, "refusal", q.Refused, "")
		if tokens := len(q.Body) / 4; tokens > 12_000+2*100_000/8 {
			w.Errorf("request %d has about %d tokens", i, tokens)
		}
	}
	b := BudgetOf(w.fold(id), 0, 0)
	if b.Live > 2*b.Limit/8+b.Entries*100 {
		w.Errorf("the live entries cost %d tokens", b.Live)
	}
}

// cost estimates tokens as a fresh life does.
func cost(text string) int {
	var e llm.Estimator
	return e.Tokens(llm.Weight(text))
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("yes")})
	var before []string
	for i := range 57 {
		before = append(before, fmt.Sprintf("line %d", i))
	}
	w.say("old", "ann", before...)
	id := w.boot("ada", "dev")
	r := w.run(id)
	r.settled()

	lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), "old")) // by anyone, while it runs
	w.answered("old", 1)
	r.settled()
	equalSlices(t, "heard of a first subscription", w.heard(id, "old"), before[37:])
	contains(t, w.prompt(), "It held 57 lines before; you hear the last 20")

	lethetest.Must(t, chat.Unsubscribe(id.Subs(), "old"))
	w.eventually("left", func() bool { return len(w.events(id, "left")) == 1 })
	w.say("old", "ann", "while away")
	w.ask("dev", "here")
	r.settled()
	equalSlices(t, "heard after leaving", w.heard(id, "old"), before[37:])

	lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), "old"))
	w.answered("old", 2)
	r.finish()
	equalSlices(t, "heard of a renewed subscription", w.heard(id, "old"), append(before[37:], "while away"))

	lethetest.Must(t, os.Remove(id.Subs()+"/old.md")) // while it is stopped
	w.say("old", "ann", "unheard")
	r = w.run(id)
	w.ask("dev", "here again")
	r.finish()
	equal(t, "heard in old", len(w.heard(id, "old")), 21)
}

func TestJoinAndLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("ops", "bob", "old news")
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.ask("dev", "join ops")
	w.answered("ops", 1)
	r.settled()
	w.ask("dev", "say I am here in ops and then leave ops")
	r.finish()
	said := w.said("ops")
	equal(t, "SAY", said[len(said)-1], "I am here")
	equalSlices(t, "heard", w.heard(id, "ops"), []string{"old news"})
	equal(t, "left", len(w.events(id, "left")), 1)
}

// A room that is edited, replaced, emptied or removed is neither forgotten nor
// heard again, and never does the identity hear itself.
func TestRoomsChange(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, rehearsal.Step{Times: -1, Answer: text("yes")})
	var want []string
	ask := func(line string) {
		t.Helper()
		n := len(w.events(id, "posted"))
		w.say("dev", "ann", line)
		w.eventually("the answer to "+line, func() bool { return len(w.events(id, "posted")) == n+1 })
		r.settled()
		want = append(want, line)
		equalSlices(t, "heard after "+line, w.heard(id, "dev"), want)
	}
	ask("one")
	ask("two")
	save := func(change func([]string) []string) { // as an editor does
		t.Helper()
		lines := change(strings.SplitAfter(w.read(w.path("dev")), "\n"))
		tmp := w.path("dev") + "~"
		lethetest.Must(t, os.WriteFile(tmp, []byte(strings.Join(lines, "")), 0o600))
		lethetest.Must(t, os.Rename(tmp, w.path("dev")))
	}
	same := func(lines []string) []string { return lines }
	save(same)
	ask("three")
	save(func(lines []string) []string { return lines[1:] }) // the first line is gone
	ask("four")
	save(func(lines []string) []string {
		return slices.Insert(lines, 1, "[USER:ann 2026-11-20T00:00:00Z] in the past\n")
	})
	ask("five")
	lethetest.Must(t, os.Truncate(w.path("dev"), 0))
	ask("six")
	lethetest.Must(t, os.Remove(w.path("dev")))
	ask("seven")
	lethetest.Must(t, os.Rename(w.home.Chats(), w.home.Chats()+"-gone"))
	lethetest.Must(t, os.Mkdir(w.home.Chats(), 0o700))
	ask("eight")
	equal(t, "model calls", len(w.asked()), len(want))
	// With many lines behind the cursor, its own among them, while it is stopped.
	r.stop()
	save(func(lines []string) []string {
		return append([]string{"[USER:bob 2026-11-20T00:00:00Z] before all\n"}, lines...)
	})
	r = w.run(id)
	ask("nine")
	r.stop()
}

// Own lines are known again in a file that was edited while they were still to be
// passed over.
func TestOwnLinesInEditedRoom(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w := newWorld(t, rehearsal.Step{Contains: "one", Hold: hold, Answer: text("yes")}, rehearsal.Step{Times: -1, Answer: text("yes, too")})
	id := w.boot("ada", "dev")
	r := w.run(id, dieAt("posted", 1))
	w.say("dev", "ann", "one")
	w.eventually("the call", func() bool { return len(w.asked()) == 1 })
	w.say("dev", "ann", "two")
	close(hold)
	r.killed()
	w.rewrite(w.path("dev"), func(s string) string { return s[strings.Index(s, "\n")+1:] })
	r = w.run(id)
	w.answered("dev", 2)
	r.finish()
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"one", "two"})
	equalSlices(t, "said", w.said("dev"), []string{"yes", "yes, too"})
}

// More than one look's worth of lines that wake nobody does not hide the line
// behind them.
func TestLineBehindOwnLines(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Contains: "hear me", Answer: text("yes")})
	w.conf.ContextLimit, w.conf.Params.MaxTokens = 1_000_000, 120_000
	id := w.boot("ada", "dev", "ops")
	long := strings.Repeat("x", 9_000) // an entry holds one, and a look eight
	var many []string
	for range 12 {
		many = append(many, "SAY", `{"room":"ops","message":"`+long+`"}`)
	}
	w.model.Push(rehearsal.Step{Contains: "talk", Answer: calls(many...)})
	r := w.run(id)
	r.settled()
	w.put("ops", "\n") // a blank line keeps the cursor where it is
	w.ask("dev", "talk")
	r.finish()
	w.say("ops", "ann", "hear me")

	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	again, err := a.advance(t.Context())
	lethetest.Must(t, err)
	if len(w.heard(id, "ops")) > 0 || !again {
		t.Errorf("one look is enough, or no other follows: %v", again)
	}
	for again {
		again, err = a.advance(t.Context())
		lethetest.Must(t, err)
	}
	equalSlices(t, "heard", w.heard(id, "ops"), []string{"hear me"})
	equal(t, "answer", w.said("ops")[12], "yes")
}

// Rooms that cannot be read, or are links of another user, do not make the identity
// deaf to the others. They are joined once they can be.
func TestUnreadableRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("heard")})
	id := w.boot("ada", "dev")
	lethetest.Must(t, os.Mkdir(w.path("odd"), 0o700))
	rooms := []string{"odd"}
	if os.Geteuid() == 0 { // only root can make a link of another user
		w.put("secret", "the-secret-word\n")
		lethetest.Must(t, os.Symlink("secret.md", w.path("linked")))
		lethetest.Must(t, os.Lchown(w.path("linked"), 65534, 65534))
		rooms = append(rooms, "linked")
	}
	for _, room := range rooms {
		lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), room))
	}
	r := w.run(id)
	w.ask("dev", "hello")
	lethetest.Must(t, os.Remove(w.path("odd")))
	w.ask("odd", "and here?")
	r.stop()
	equalSlices(t, "heard", w.heard(id, "odd"), []string{"and here?"})
	equalSlices(t, "heard", w.heard(id, "linked"), nil)
}
