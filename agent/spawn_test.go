package agent

import (
	"strings"
	"testing"
)

// child returns the only child of the home.
func (w *world) child() Identity {
	w.Helper()
	all, err := w.home.List()
	if err != nil {
		w.Fatal(err)
	}
	var out []Identity
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
	w.eventually("the child has stopped", func() bool { _, runs := Running(child); return !runs })
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
	w.eventually("the child has stopped again", func() bool { _, runs := Running(child); return !runs })
	s.stop()
	<-s.done
	if s.err != nil {
		t.Error(s.err)
	}
	equal(t, "stops", len(w.having(child, "stopped", "why", "done")), 2)
	equal(t, "pieces", w.fold(child).Task.Given, 2)
	equal(t, "pieces", w.fold(id).Children[0].Ended, 2)
}
