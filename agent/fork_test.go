package agent

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/part"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// fork boots a fork of an identity.
func (w *world) fork(of home.Identity, m home.Moment, name string, rooms ...string) (home.Identity, []string) {
	w.Helper()
	id, today, err := home.Fork(w.home, w.store, of, w.at(of, m), home.BootOptions{Name: name, Rooms: rooms})
	lethetest.Must(w, err)
	return id, today
}

// opens reports whether an identity may open the original that has a text.
func (w *world) opens(a *Agent, of home.Identity, text string) bool {
	w.Helper()
	for _, e := range w.events(of, "fade") {
		if len(e.Refs) > 0 && e.Get("to") != mind.Card && strings.Contains(w.original(e.Refs[0].Hash), text) {
			_, _, err := a.caller.reach.Blob(e.Refs[0].Hash)
			return err == nil
		}
	}
	w.Fatalf("nothing that faded says %q", text)
	return false
}

// A fork has what its ancestor had at the moment, live and faded, is reminded of it, and knows nothing of
// what came later; so has its own fork. It hears only the rooms that it is given, and owes nothing.
func TestFork(t *testing.T) {
	t.Parallel()
	lethetest.Unraced(t)
	w, r := forgotten(t, "")
	ada := r.id
	r.ask("the new pilot is called Zacharias")
	past := w.fold(ada)
	memory := w.own(ada, home.MemoryFile)
	w.write(memory, "Bosun is a dog.\n")
	r.ask("write remember the dog to dog.txt")
	r.stop()
	w.write(memory, "Bosun is no dog.\n")

	bea, today := w.fork(ada, home.Moment{Entry: past.Next - 1}, "bea", "ops")
	equal(t, "own files of today, where the context began with them as they were", strings.Join(today, ","), "")
	equal(t, "MEMORY of then", w.read(w.own(bea, home.MemoryFile)), "")
	_, today = w.fork(ada, home.Moment{}, "dora")
	equal(t, "own files of today, where they were edited since", strings.Join(today, ","), home.MemoryFile)
	w.conserved(bea)
	then := w.fold(bea)
	if boot, _ := event.As[event.Boot](w.life(bea)[0]); boot.Fork.Self != ada.Self || then.Next != past.Next+1 ||
		len(then.Faded) != len(past.Faded) {
		t.Errorf("boot %+v, next e%d after e%d, %d ranges of %d", boot, then.Next, past.Next, len(then.Faded), len(past.Faded))
	}
	rb := w.run(bea)
	w.ask("ops", "hello") // which it does not look up: what it found would stand in sight
	rb.begun()
	w.ask("ops", "who has the code 7431 of the lighthouse keeper?")
	if n := w.hintsAt(bea, "7431"); n == 0 {
		t.Error("it is not reminded of what its ancestor had forgotten")
	}
	if last := w.prompt(); !strings.Contains(last, "You are bea") || !strings.Contains(last, "Zacharias") ||
		strings.Contains(last, "dog.txt") {
		t.Errorf("its request has another name, lacks what was live, or has what came later:\n%s", last)
	}
	rb.stop()
	if n := len(w.events(bea, "joined")); n != 1 || w.owes(bea) {
		t.Errorf("it has joined %d rooms; owes: %v", n, w.owes(bea))
	}

	cleo, _ := w.fork(bea, home.Moment{}, "cleo")
	a, err := Open(cleo, w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	if !w.opens(a, ada, "7431") || len(a.view.State.Ancestors) != 2 {
		t.Errorf("a fork of a fork does not own what its first ancestor had faded: %+v", a.view.State.Ancestors)
	}
	reply := w.events(ada, "reply")
	if _, _, err := a.caller.reach.Blob(reply[len(reply)-1].Refs[0].Hash); err == nil {
		t.Error("it opens what its ancestor did after the moment")
	}
	if _, _, err := home.Fork(w.home, w.store, ada, w.at(ada, home.Moment{}), home.BootOptions{Name: "bea"}); !errors.Is(err, home.ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
}

// begun waits until the index has what a fork began with.
func (r *running) begun() {
	r.w.Helper()
	r.w.eventually("the index has what the ancestor had faded", func() bool { return !r.agent.thinker.indexer.Behind() })
}

// Each moment is found: entries with all their results, epochs, times, labels, the end; what is not there is said.
func TestMoments(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	r.ask("run echo one")
	r.ask("run echo two")
	r.stop()
	held, err := journal.Hold(w.home, id, w.store, nil)
	lethetest.Must(t, err)
	lethetest.Must(t, held.Commit(part.Record{Event: event.Labelled{Label: "before"}}))
	lethetest.Must(t, held.Close())
	events := w.life(id)
	for n := 1; n < w.fold(id).Next; n++ {
		then, err := home.At(id, w.store, home.Moment{Entry: n})
		lethetest.Must(t, err)
		if unit := then.Unit(); then.Next != n+1 || unit != nil && unit.Waits() {
			t.Errorf("e%d: the next is e%d", n, then.Next)
		}
	}
	now, err := home.At(id, w.store, home.Moment{})
	lethetest.Must(t, err)
	label, err := home.At(id, w.store, home.Moment{Label: "before"})
	lethetest.Must(t, err)
	if fi, _ := os.Stat(id.LIFE()); now.End != fi.Size() || label.End > now.End {
		t.Errorf("now is at %d, the label at %d of %d", now.End, label.End, fi.Size())
	}
	zero, nine := 0, 9
	first, err := home.At(id, w.store, home.Moment{Epoch: &zero})
	lethetest.Must(t, err)
	equal(t, "entries at the first epoch", first.Next, 1)
	for name, m := range map[string]home.Moment{"entry": {Entry: 99}, "epoch": {Epoch: &nine}, "label": {Label: "after"},
		"time": {At: events[0].At.Add(-time.Second)}, "place": {End: 7}} {
		if _, err := home.At(id, w.store, m); !errors.Is(err, home.ErrNotFound) || !strings.Contains(err.Error(), "before") {
			t.Errorf("%s: %v", name, err)
		}
	}
	at, err := home.At(id, w.store, home.Moment{At: events[4].At})
	if lethetest.Must(t, err); at.At.After(events[4].At) {
		t.Errorf("at %v: %v", events[4].At, at.At)
	}
	m, err := id.LineAt(now.End)
	if leaf := m.Leaf; err != nil || m.Line != int64(len(events)) || len(leaf) != 64 {
		t.Errorf("%+v of %d lines, %v", m, len(events), err)
	}
}

// Whatever step of a fork fails, there is the fork, whole, or nobody of that name.
func TestForkFails(t *testing.T) {
	w, id, r := start(t)
	r.ask("run echo one")
	r.stop()
	then := w.at(id, home.Moment{})
	t.Parallel()
	for step := 0; ; step++ {
		name := fmt.Sprintf("bea%d", step)
		failed, err := w.failingAt(step, func() error {
			_, _, err := home.Fork(w.home, w.store, id, then, home.BootOptions{Name: name})
			return err
		})
		if !failed {
			break
		}
		if err == nil {
			t.Errorf("step %d: no error", step)
		}
		if fork, err := w.home.Find(name); err == nil {
			if s := w.fold(fork); len(s.Live) == 0 || s.Live[len(s.Live)-1].Kind != mind.Note {
				t.Errorf("step %d: half a fork", step)
			}
		}
	}
}

// What a fork rests on, which its ancestor may have written just now, is durable before the fork is there.
func TestForkOfAMomentThatIsNotDurable(t *testing.T) {
	t.Parallel()
	w, ada := killedAfter(t, "reply")
	defer once(syscall.EIO, func(stage durable.Stage, op, path string) bool {
		return stage == durable.Before && op == "sync" && path == w.home.Dir
	}).put(w)()
	if _, _, err := home.Fork(w.home, w.store, ada, w.at(ada, home.Moment{}), home.BootOptions{Name: "bea"}); !errors.Is(err, syscall.EIO) {
		t.Errorf("its ancestor cannot be synced: %v", err)
	}
	all, err := w.home.List()
	lethetest.Must(t, err)
	equal(t, "identities", len(all), 1)
}
