package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/prompt"
	"lethe/agent/status"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/test/lethetest"
)

// What comes in during a turn is heard before the next call, behind the unit.
func TestLinesDuringTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("first", calls("BASH", `{"command":"while [ ! -e go ]; do sleep 0.02; done"}`, "LIST", `{"path":"."}`)))
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	w.say("dev", "ann", "the first question")
	r.waitFor("acting", "BASH")
	w.say("dev", "ann", "a second line", "a third line")
	w.say("ops", "bob", "a fourth line")
	w.write(w.own(id, "workspace/go"), "")
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
	w, id, r := start(t, always("I saw it."))
	r.settled()
	var want []string
	for i := range 2000 {
		want = append(want, fmt.Sprintf("line %d of a flood that is long enough to be a bother", i))
	}
	r.ask(want...)
	r.stop()
	equalSlices(t, "heard", w.heard(id, "dev"), want)
	for i, q := range w.asked() { // two batches or units at most
		if tokens := len(q.Body) / 4; tokens > 12_000+2*100_000/8 {
			t.Errorf("request %d has about %d tokens", i, tokens)
		}
	}
	if b := prompt.PartsOf(id, w.fold(id), prompt.DefaultLimit); b.Live > 2*b.Limit/8+b.Entries*100 {
		t.Errorf("the live entries cost %d tokens", b.Live)
	}
	if n := len(w.events(id, "inbound")); n > 3*compactor.MaxEntries {
		t.Errorf("the flood became %d entries", n)
	}
}

// An identity joins neither the room of its reviewer nor one of notices, by itself or by a trigger; what a person links
// is heard.
func TestRoomsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("come", calls("JOIN", `{"room":"notify-ann"}`, "JOIN", `{"room":"review-ada"}`, "JOIN", `{"room":"ops"}`)),
		always("yes"))
	id := w.boot("ada", "dev")
	w.trigger(id, "brief.toml", "every = \"1s\"\nroom = \"notify-ann\"\nsay = \"tick\"\n")
	r := w.run(id)
	r.ask("come")
	w.shows(id, "the trigger is trouble", func(s status.Status) bool {
		return strings.Contains(strings.Join(s.Trouble, ";"), "trigger brief: have ada hear room notify-ann")
	})
	r.settled()
	rooms, err := chat.Rooms(id.Subs())
	lethetest.Must(t, err)
	equalSlices(t, "rooms", rooms, []string{"dev", "ops"})
	lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), "notify-ann"))
	w.until(id, 3, "joined")
	if err := w.home.Subscribe(id, "notify-bob"); !errors.Is(err, home.ErrHear) {
		t.Error(err)
	}
	if _, err := home.Boot(w.home, w.store, home.BootOptions{Name: "eve", Rooms: []string{"notify-ann"}}); !errors.Is(err, home.ErrHear) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(w.home.Agents()); len(left) != 1 {
		t.Errorf("what was refused leaves %v", left)
	}
	r.finish()
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("come", calls("JOIN", `{"room":"ops"}`)),
		on("go", calls("SAY", `{"room":"ops","message":"I am here"}`, "LEAVE", `{"room":"ops"}`)),
		always("yes"))
	var before []string
	for i := range 57 {
		before = append(before, fmt.Sprintf("line %d", i))
	}
	w.say("old", "ann", before...)
	w.say("ops", "bob", "old news")
	id, r := w.ada()
	r.settled()
	subscribe := func() { t.Helper(); lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), "old")) }

	subscribe() // by anyone, while it runs
	w.answered("old", 1)
	r.settled()
	equalSlices(t, "heard of a first subscription", w.heard(id, "old"), before[37:])
	contains(t, w.prompt(), "It held 57 lines before; you hear the last 20")

	lethetest.Must(t, chat.Unsubscribe(id.Subs(), "old"))
	w.until(id, 1, "left")
	w.say("old", "ann", "while away")
	r.ask("here")
	equalSlices(t, "heard after leaving", w.heard(id, "old"), before[37:])

	subscribe()
	w.answered("old", 2)
	r.finish()
	equalSlices(t, "heard of a renewed subscription", w.heard(id, "old"), append(before[37:], "while away"))

	lethetest.Must(t, os.Remove(id.Subs()+"/old.md")) // while it is stopped
	w.say("old", "ann", "unheard")
	r = w.run(id)
	r.ask("here again")
	equal(t, "heard in old", len(w.heard(id, "old")), 21)

	r.ask("come") // by itself
	w.answered("ops", 1)
	r.settled()
	r.ask("go")
	r.stop()
	equalSlices(t, "said in ops", w.said("ops"), []string{"yes", "I am here"})
	equalSlices(t, "heard in ops", w.heard(id, "ops"), []string{"old news"})
	w.has(id, 3, "left")
}

// A room that is edited, replaced, emptied or removed is neither forgotten nor
// heard again, and never does the identity hear itself. No command there is taken for what was
// said before the identity came.
func TestRoomsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("yes"))
	want := slices.Repeat([]string{"a line of the past"}, 20) // which a first subscription hears
	w.say("dev", "eve", slices.Repeat(want, 5)...)
	id, r := w.ada()
	w.answered("dev", 1)
	r.settled()
	command := func() {
		t.Helper()
		n := len(w.events(id, "command"))
		w.say("dev", "ann", "/status")
		w.until(id, n+1, "command")
		r.settled()
	}
	ask := func(line string) {
		t.Helper()
		calls := len(w.asked())
		w.say("dev", "ann", line)
		w.eventually("the call for "+line, func() bool { return len(w.asked()) == calls+1 })
		r.settled()
		want = append(want, line)
		equalSlices(t, "heard after "+line, w.heard(id, "dev"), want)
	}
	ask("one")
	ask("two")
	for i, change := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest }, // the first line is gone
		func(s string) string {
			return strings.Replace(s, "\n", "\n[USER:ann 2026-11-20T00:00:00Z] in the past\n", 1)
		},
	} {
		w.rewrite(w.path("dev"), change)
		ask(fmt.Sprintf("after change %d", i))
	}
	for n := range 2 { // a person's editor leaves no tag
		w.rewrite(w.path("dev"), func(s string) string { return "in the past\n" + s + "/status\n" })
		w.until(id, n+1, "command")
		r.settled()
	}
	lethetest.Must(t, os.Truncate(w.path("dev"), 0))
	ask("six")
	lethetest.Must(t, os.Remove(w.path("dev")))
	w.shows(id, "the room is gone", func(s status.Status) bool { return s.Heard["dev"] == 0 }) // or who writes now would take it for heard
	command()
	ask("seven")
	command()
	obeyed := w.events(id, "command")
	lethetest.Must(t, os.Remove(w.path("dev")))
	w.shows(id, "the room is gone", func(s status.Status) bool { return s.Heard["dev"] == 0 })
	w.put("dev", obeyed[2].Get("line")+"\n") // what was obeyed before the room was replaced
	ask("seven again")
	w.has(id, len(obeyed), "command")
	lethetest.Must(t, os.Rename(w.home.Chats(), w.home.Chats()+"-gone"))
	lethetest.Must(t, os.Mkdir(w.home.Chats(), 0o700))
	ask("eight")
	equal(t, "model calls", len(w.asked()), len(want)-19)
	// With many lines behind the cursor, its own among them, while it is stopped.
	r.stop()
	w.rewrite(w.path("dev"), func(s string) string { return "[USER:bob 2026-11-20T00:00:00Z] before all\n" + s })
	r = w.run(id)
	ask("nine")
	r.stop()
}

// More than one look's worth of lines that wake nobody does not hide the line
// behind them.
func TestLineBehindOwnLines(t *testing.T) {
	slow(t)
	// An entry holds one of these lines, and a look eight.
	w := newWorld(t, on("talk", many(12, "SAY", `{"room":"ops","message":"`+strings.Repeat("x", 9_000)+`"}`)))
	w.conf.ContextLimit, w.conf.Params.MaxTokens = 1_000_000, 120_000
	r := w.run(w.boot("ada", "dev", "ops"))
	r.settled()
	w.put("ops", "\n") // a blank line keeps the cursor where it is
	r.ask("talk")
	r.stop()
	w.say("ops", "ann", "hear me")
	r = w.run(r.id)
	w.answered("ops", 13)
	r.finish()
	equalSlices(t, "heard", w.heard(r.id, "ops"), []string{"hear me"})
}

// Rooms that cannot be read, or are links of another user, do not make the identity
// deaf to the others. They are joined once they can be. A file in the place of a link makes it deaf
// in that room, and it says so until the link is back.
func TestUnreadableRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("heard"))
	var log lethetest.Log
	w.conf.Log = slog.New(slog.NewTextHandler(&log, nil))
	id := w.boot("ada", "dev", "ops")
	lethetest.Must(t, os.Mkdir(w.path("odd"), 0o700))
	rooms := []string{"odd"}
	if os.Geteuid() == 0 { // only root can make a link of another user
		w.put("secret", "the-secret-word\n")
		lethetest.Must(t, os.Symlink("secret.md", w.path("linked")))
		lethetest.Must(t, os.Lchown(w.path("linked"), 65534, 65534))
		rooms = append(rooms, "linked")
	}
	subscribe := func(room string) { lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), room)) }
	for _, room := range rooms {
		subscribe(room)
	}
	r := w.run(id)
	w.ask("dev", "hello")
	lethetest.Must(t, os.Remove(w.path("odd")))
	w.ask("odd", "and here?")
	equalSlices(t, "heard", w.heard(id, "odd"), []string{"and here?"})
	equalSlices(t, "heard", w.heard(id, "linked"), nil)

	link := filepath.Join(id.Subs(), "ops.md")
	w.rewrite(link, func(s string) string { return s + "saved by an editor\n" })
	deaf := func(s status.Status) bool {
		return slices.ContainsFunc(s.Trouble, func(t string) bool {
			return strings.HasPrefix(t, "room ops cannot be read: subs/ops.md is not a link; remove it")
		})
	}
	w.shows(id, "it says that it is deaf", deaf)
	contains(t, w.ask("dev", "/status"), "; room ops cannot be read: subs/ops.md is not a link")
	equal(t, "warnings", strings.Count(log.String(), "subs/ops.md is not a link"), 1)
	w.say("ops", "ann", "do you hear me?")
	lethetest.Must(t, os.Remove(link))
	subscribe("ops")
	equal(t, "answer", w.answered("ops", 1), "heard")
	w.shows(id, "it is not deaf any more", func(s status.Status) bool { return !deaf(s) })
	r.stop()
	if heard := w.heard(id, "ops"); !slices.Contains(heard, "do you hear me?") {
		t.Errorf("heard in ops: %q", heard)
	}
}

// What is said in a room wakes those that hear it, and no other identity of the home.
func TestOthersRoomsWakeNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, err := Open(w.boot("ada", "dev"), w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	defer func() { a.listener.Stop() }()
	lethetest.Must(t, a.begin())
	lethetest.Must(t, a.listener.FireDue()) // which watches its rooms
	all, cancel := w.watcher.Subscribe(chat.Scope{Dir: w.home.Chats()})
	defer cancel()
	told := func(room string) (woken bool) {
		for _, c := range []<-chan struct{}{all, a.listener.Changed()} {
			for len(c) > 0 {
				<-c
			}
		}
		w.put(room, "hello\n")
		<-all // which is told after the identity
		return len(a.listener.Changed()) > 0
	}
	w.eventually("the watcher has told of all that was before", func() bool {
		first, then := told("elsewhere"), told("elsewhere")
		return !first && !then
	})
	lethetest.Must(t, chat.Subscribe(a.view.ID.Subs(), w.home.Chats(), "elsewhere"))
	lethetest.Must(t, a.listener.FireDue())
	w.eventually("it is told of the room that it has joined", func() bool { return told("elsewhere") })
	w.eventually("it is told of the room that it heard before", func() bool { return told("dev") })
}
