package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/lookup"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// child returns the only child of the home.
func (w *world) child() home.Identity {
	w.Helper()
	all, err := w.home.List()
	if err != nil {
		w.Fatal(err)
	}
	var out []home.Identity
	for _, id := range all {
		if id.IsChild() {
			out = append(out, id)
		}
	}
	if len(out) != 1 {
		w.Fatalf("%d children\n%s", len(out), w.dump())
	}
	return out[0]
}

// A child does its work in a room of its own; its result is said where the work was
// asked for, and then it has stopped.
func TestSpawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	contains(t, w.ask("dev", "let somebody else run echo hello > greeting.txt; cat greeting.txt"), "Somebody else does it: ada-")
	contains(t, w.answered("dev", 2), "says: BASH `echo hello > greeting.txt; cat greeting.txt` gave: hello")
	child := w.child()
	room := w.fold(id).Children[0].Room
	w.gone(child)
	said := w.said(room)
	equal(t, "lines of the work", len(said), 2)
	equal(t, "brief", said[0], "run echo hello > greeting.txt; cat greeting.txt")
	if !strings.HasPrefix(said[1], "result 1: ") {
		t.Errorf("the result is %q", said[1])
	}
	equal(t, "the parent's workspace", w.read(w.own(id, "workspace/greeting.txt")), "hello\n")
	equal(t, "how", w.fold(id).Children[0].How+w.fold(child).Task.How, "donedone")

	w.say("dev", "ann", "say run echo again in "+room)
	w.answered("dev", 3)
	contains(t, w.answered("dev", 4), "gave: again")
	w.gone(child)
	s.end()
	if s.err != nil {
		t.Error(s.err)
	}
	w.has(child, 2, "stopped", "why", "done")
	equal(t, "pieces", w.fold(child).Task.Given, 2)
	equal(t, "pieces", w.fold(id).Children[0].Ended, 2)
}

// What is pinned before a parent is pinned before its children from their first request on, and no summary ends it.
func TestChildKeepsPins(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, who("", "start", calls("SPAWN", `{"brief":"look around"}`)), always("well"))
	r.ask("Rule for everybody: never write to prod.")
	w.talk(8, 20)
	r.settled()
	r.compact()
	r.finish()
	before := w.fold(id).Pins
	if len(before) == 0 || !strings.Contains(before[0].Text, "never write to prod") {
		t.Fatalf("the pins of the parent are %+v", before)
	}
	w.supervise(id)
	w.ask("dev", "start")
	child := w.child()
	// it may be started once more, for nothing
	w.eventually("it has worked", func() bool { return len(w.having(child, "stopped", "why", "done")) > 0 })
	pins := w.fold(child).Pins
	if len(pins) != len(before) || pins[0].Text != before[0].Text || pins[0].From != 0 || pins[0].Weight != mind.PinnedByPerson {
		t.Errorf("its pins are %+v", pins)
	}
	var asked []string
	for _, q := range w.requests() {
		if text := string(q.first); strings.Contains(text, "You work for another agent") {
			asked = append(asked, text)
		}
	}
	contains(t, strings.Join(asked, "\n"), `◆ pins\n- `+before[0].Text+`\n`)
}

// who matches the requests of a child of the named agent, and of its own for "".
func who(parent, contains string, a *rehearsal.Answer) rehearsal.Step {
	return rehearsal.Step{Contains: contains, Answer: a, Times: -1, Match: func(r *rehearsal.Request) bool {
		_, rest, child := strings.Cut(r.Messages[0].Text(), "You work for another agent, ")
		return child == (parent != "") && strings.HasPrefix(rest, parent)
	}}
}

// workrooms returns the rooms in which children work, in order of their names.
func (w *world) workrooms() (rooms []string) {
	paths, _ := filepath.Glob(filepath.Join(w.home.Chats(), "task-*.md"))
	for _, path := range paths {
		rooms = append(rooms, strings.TrimSuffix(filepath.Base(path), ".md"))
	}
	return rooms
}

// A /stop reaches children and theirs, each once, and what they say then calls nobody.
func TestStopReachesChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, who("ada,", "deep", calls("SPAWN", `{"brief":"dig","tools":["BASH"]}`)),
		who("ada-", "dig", calls("BASH", `{"command":"touch began; sleep 600"}`)),
		who("ada", "works for you", text("I wait for it.")), who("", "start", calls("SPAWN", `{"brief":"go deep"}`)), always("well"))
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	w.ask("dev", "start")
	w.eventually("the grandchild works", func() bool { _, err := os.Stat(w.own(id, "workspace/began")); return err == nil })
	w.say("dev", "ann", "/stop")
	w.eventually("it has stopped", func() bool { return slices.Contains(w.said("dev"), chat.Stopped) })
	rooms := w.workrooms()
	equal(t, "rooms", len(rooms), 2)
	for _, room := range rooms {
		w.eventually("a child has stopped", func() bool { return slices.Contains(w.said(room), chat.Stopped) })
		stops := 0
		for _, l := range w.lines(room) {
			if l.Command == "stop" && l.Name == "ann" {
				stops++
			}
		}
		equal(t, "stops in "+room, stops, 1)
	}
	all, err := w.home.List()
	lethetest.Must(t, err)
	for _, child := range all[1:] {
		w.gone(child)
		equal(t, child.Name, w.fold(child).Task.How, mind.WorkStopped)
	}
	w.settle(id)
	s.end()
	equal(t, "child", w.fold(id).Children[0].How, mind.WorkStopped)
	equalSlices(t, "said", w.said("dev"), []string{"well", chat.Stopped})
}

// A child that cannot go on says so; its next work is another matter.
func TestChildFails(t *testing.T) {
	t.Parallel()
	refused := who("ada,", "try", nil)
	first, second := make(chan struct{}), make(chan struct{}) // closed when the parent has answered
	refused.Status, refused.Times, refused.Hold = 402, 1, first
	more := who("ada,", "once more", text("it went well"))
	more.Hold = second
	w := newWorld(t, refused, more, who("", "failed 1: ", text("it has failed")),
		who("", "result 2: ", text("it is done")), who("", "works for you", text("it is at work")),
		who("", "start", calls("SPAWN", `{"brief":"try"}`)))
	w.conf.Notify = []string{"notify-ann"}
	id := w.boot("ada", "dev")
	w.supervise(id)
	w.say("dev", "ann", "start")
	w.answered("dev", 1)
	close(first)
	equal(t, "answer", w.answered("dev", 2), "it has failed")
	room := w.workrooms()[0]
	contains(t, w.answered("notify-ann", 1), "My work in room "+room+" has failed: ")
	if said := w.said(room); !strings.HasPrefix(said[len(said)-1], "failed 1: ") || !strings.Contains(said[len(said)-1], "402") {
		t.Errorf("it says %q", said)
	}
	w.model.Push(who("", "again", calls("SAY", `{"room":"`+room+`","message":"once more"}`)), who("", "said in room", text("I have told it")))
	w.say("dev", "ann", "again")
	w.answered("dev", 3)
	close(second)
	equal(t, "answer", w.answered("dev", 4), "it is done")
}

// What a child may have is what its parent lists, of what it has itself; no more work at
// a time than may be alive; and a long result is behind its ref.
func TestChildIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 300)
	hold := make(chan struct{})
	var many []string
	for i := range 10 {
		args := fmt.Sprintf(`{"brief":"brief %d","tools":["SAY","LIST"],"usd":0.5}`, i)
		if i == 9 {
			args = `{"brief":"x","tools":"FLY"}`
		}
		many = append(many, "SPAWN", args)
	}
	first, waits, held := who("ada,", "brief 0", text(long)), who("ada,", "brief ", text("done")), make(chan struct{})
	first.Hold, waits.Hold = held, hold
	w := newWorld(t, first, waits,
		who("", "works for you", text("they are at work")), who("", "FLY", text("they are at work")),
		who("", "result 1: 0123", text("I have it")), who("", "start", calls(many...)), always("well"))
	t.Cleanup(func() { close(hold) })
	id := w.boot("ada", "dev")
	w.supervise(id)
	w.say("dev", "ann", "start")
	w.answered("dev", 1)
	results := w.results(id)
	for i, r := range results {
		switch {
		case i < 8:
			equal(t, "status", r.status, mind.OK)
		case i == 8:
			contains(t, r.text, "8 are at work already")
		default:
			contains(t, r.text, "FLY, which you do not have yourself")
		}
	}
	close(held)
	equal(t, "answer", w.answered("dev", 2), "I have it")
	children := w.fold(id).Children
	equal(t, "children", len(children), 8)
	child, err := w.home.Find(children[0].Name)
	lethetest.Must(t, err)
	var names []string
	for _, f := range []string{"SAY", "LIST", "UNCOMPACT", "BASH", "JOIN", "SPAWN", "WRITE_FILE"} {
		if strings.Contains(w.fold(child).Stable.Tools, `"name":"`+f+`"`) {
			names = append(names, f)
		}
	}
	equalSlices(t, "tools", names, []string{"SAY", "LIST", "UNCOMPACT"})
	said := w.said(children[0].Room)
	outcome, ok := chat.ParseOutcome(said[len(said)-1])
	parent := &lookup.View{Config: wake.Config{Home: w.home, Identity: id, Store: w.store}, Owns: w.fold(id).Owns}
	parent.Know(lookup.Known{})
	if _, hash, cut := strings.Cut(outcome.Text, "hash="); !ok || !cut || len(outcome.Text) > 2000 ||
		!strings.HasPrefix(outcome.Text, "0123") {
		t.Errorf("the result is %q", said)
	} else if b, _, err := parent.Blob(strings.TrimSuffix(hash, "]")); err != nil || !strings.Contains(string(b.Body), long) {
		t.Errorf("the parent cannot open %s: %v", hash, err)
	}
}

// A child that cannot be run any more has failed, and its parent is told once.
func TestLostChild(t *testing.T) {
	t.Parallel()
	waits := who("ada,", "brief", text("done"))
	waits.Hold = make(chan struct{})
	w := newWorld(t, waits, who("", "it cannot be run", text("it is lost")), who("", "works for you", text("it is at work")),
		who("", "start", calls("SPAWN", `{"brief":"brief"}`)))
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	equal(t, "answer", w.ask("dev", "start"), "it is at work")
	child := w.child()
	w.until(child, 1, "inbound")
	s.end()
	w.write(child.LIFE(), "nothing that Lethe wrote\n")
	s = w.supervise(id)
	equal(t, "answer", w.answered("dev", 2), "it is lost")
	w.settle(id)
	s.end()
	w.supervise(id)
	w.eventually("it runs", func() bool { _, runs := home.Running(id); return runs })
	equal(t, "how", w.fold(id).Children[0].How, mind.WorkFailed)
	w.has(id, 1, "fired")
	equal(t, "lines", len(w.said("dev")), 2)
}

// A SPAWN that people have to approve makes one child, once they have.
func TestSpawnIsApproved(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "run", "posted"} { // where it is killed
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, who("ada,", "brief", text("done")), who("", "result 1: done", text("it is done")),
				who("", "start", calls("SPAWN", `{"brief":"brief"}`)), always("well"))
			rule, err := tools.ParseRule("SPAWN")
			lethetest.Must(t, err)
			w.conf.People, w.conf.Tools.Ask = []string{"ann"}, []tools.Rule{rule}
			id, r := w.ada()
			w.say("dev", "ann", "start")
			w.eventually("it asks", func() bool { return len(w.fold(id).Questions) == 1 })
			r.settled()
			r.stop()
			w.say("dev", "ann", "once")
			if kind != "" {
				_ = w.run(id, dieAt(kind, 1)).wait()
			}
			w.supervise(id)
			w.eventually("it is done", func() bool { return slices.Contains(w.said("dev"), "it is done") })
			equal(t, "lines of its room", len(w.said(w.workrooms()[0])), 2)
			w.child()
		})
	}
}
