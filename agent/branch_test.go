package agent

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// backTo is the wish to go back to an offset of LIFE.
func backTo(offset int64) home.Wish { return home.WishBack + home.Wish(strconv.FormatInt(offset, 10)) }

// branched waits until a wish is obeyed.
func (r *running) branched(wish home.Wish) {
	r.w.Helper()
	lethetest.Must(r.w, home.Ask(r.id, wish))
	r.w.eventually("the branch is made", func() bool { return !home.Asked(r.id, wish) })
	r.rested()
}

func (w *world) at(id home.Identity, m home.Moment) home.Then {
	w.Helper()
	then, err := home.At(id, w.store, m)
	lethetest.Must(w, err)
	return then
}

// A running identity goes back: its next request begins with the bytes of the one that it went back behind, a note
// says what it did since, what it left is found, and what people said is not heard again. It goes forward again likewise.
func TestGoBack(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	r.ask("run echo one")
	before := w.newest()
	r.branched(home.WishLabel + "first")
	r.ask("write a word to notes.txt")
	r.ask("the harbour is called Zweibruck")
	left := w.fold(id)
	w.write(w.own(id, home.MemoryFile), "A dog.\n")
	r.branched(backTo(w.at(id, home.Moment{Label: "first"}).End))
	state := w.fold(id)
	note := state.Live[len(state.Live)-1]
	for _, says := range []string{"WRITE_FILE (1): notes.txt", "lines that you said (2): room dev", "A dog."} {
		if !strings.Contains(note.Text, says) {
			t.Errorf("the note does not say %q:\n%s", says, note.Text)
		}
	}
	if state.Epoch != left.Epoch+1 || state.Next != left.Next+2 || state.Rooms["dev"].Cursor.Offset != left.Rooms["dev"].Cursor.Offset {
		t.Errorf("epoch %d after %d, next e%d after e%d", state.Epoch, left.Epoch, state.Next, left.Next)
	}
	r.ask("run echo three")
	if now := w.newest(); !bytes.HasPrefix(now.messages, before.messages) || strings.Contains(w.prompt(), "Zweibruck") {
		t.Error("the request does not begin as it did at the moment, or has what came later")
	}
	if !w.finds(id, "Zweibruck") {
		t.Error("what it left is not found")
	}
	r.branched(backTo(w.at(id, home.Moment{Entry: left.Next - 1}).End))
	r.ask("run echo four")
	three := func(e *mind.Entry) bool { return e.Kind == mind.Reply && strings.Contains(e.Text, "`echo three` gave") } // a hint may
	if text := w.prompt(); !strings.Contains(text, "Zweibruck") || slices.ContainsFunc(w.fold(id).Live, three) {
		t.Errorf("it did not come back to what it left:\n%s", text)
	}
	epochs := len(w.having(id, "epoch", "why", "branch"))
	for range 2 { // the second time it is there
		r.branched(backTo(w.at(id, home.Moment{Entry: left.Next - 1}).End))
	}
	w.has(id, epochs+1, "epoch", "why", "branch")
	r.stop()
	w.run(id).finish()
	w.conserved(id)
}

// Whatever faded between two moments, an identity that goes from one to the other has each of its entries before it, or
// faded, once: also where it comes to the middle of a range that it left, and where the moment is one of before a compaction.
func TestGoBackBehindACompaction(t *testing.T) {
	slow(t)
	w := forgetful(t, 60_000)
	w.conf.Forgetting.Mechanical = true
	r := w.run(w.boot("ada", "dev"))
	id := r.id
	to := func(m home.Moment) {
		t.Helper()
		r.branched(backTo(w.at(id, m).End))
		w.conserved(id)
	}
	r.ask("run echo one")
	r.branched(home.WishLabel + "first")
	r.work(6)
	r.branched(home.WishLabel + "full")
	full := w.fold(id)
	middle := full.Live[len(full.Live)/2].N
	r.compact()
	r.work(2)
	to(home.Moment{Label: "first"})
	if s := w.fold(id); len(s.Faded) < 2 || s.Faded[0].From != w.at(id, home.Moment{Label: "first"}).Next {
		t.Errorf("what had faded since is not there: %+v", s.Faded)
	}
	r.ask("what is 12*7?")
	to(home.Moment{Entry: middle})
	r.work(12)
	r.compact()
	r.stop()
	r = w.run(id)
	to(home.Moment{Label: "full"})
	for i, e := range w.fold(id).Live[:len(full.Live)] {
		if e.N != full.Live[i].N {
			t.Errorf("e%d stands where e%d did", e.N, full.Live[i].N)
		}
	}
	r.stop()
}

// Where only a compaction lies behind the moment, it is undone, and a note says so; once, however often it is asked for.
func TestGoBackOverACompaction(t *testing.T) {
	t.Parallel()
	w := forgetful(t, 60_000)
	w.conf.Forgetting.Mechanical = true
	r := w.run(w.boot("ada", "dev"))
	id := r.id
	r.work(12)
	before, request := w.fold(id), w.newest()
	then := w.at(id, home.Moment{Entry: before.Next - 1}).End
	r.compact()
	if now := w.fold(id); len(now.Live) >= len(before.Live) {
		t.Fatalf("%d entries are live after %d", len(now.Live), len(before.Live))
	}
	for range 2 {
		r.branched(backTo(then))
		now := w.fold(id)
		if equal(t, "live entries", len(now.Live), len(before.Live)+1); len(now.Faded) > 0 {
			t.Errorf("faded: %+v", now.Faded)
		}
		note := now.Live[len(now.Live)-1].Text
		contains(t, note, "You were taken back")
		if strings.Contains(note, "UNCOMPACT") {
			t.Errorf("the note speaks of what came after: %s", note)
		}
	}
	w.has(id, 1, "epoch", "why", "branch")
	r.compact() // the note is all that came since, and yet not all is as it was
	r.branched(backTo(then))
	w.has(id, 2, "epoch", "why", "branch")
	r.indexed()
	r.ask("run seq 3 903")
	if now := w.newest(); !bytes.HasPrefix(now.messages, request.messages) {
		t.Error("the request does not begin as it did at the moment")
	}
	equal(t, "hints at what is before it again", len(w.events(id, "hint")), 0)
	w.conserved(id)
	r.stop()
}

// What was asked in a turn waits for its end.
func TestGoBackAfterTheTurn(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	r.ask("run echo one")
	to := w.at(id, home.Moment{}).End
	w.say("dev", "ann", "run until [ -e go ]; do sleep 0.01; done; echo two")
	r.waitFor("acting", "BASH")
	lethetest.Must(t, home.Ask(id, backTo(to)))
	w.write(w.own(id, "workspace/go"), "")
	w.eventually("the branch is made", func() bool { return !home.Asked(id, backTo(to)) })
	r.rested()
	equal(t, "answers", len(w.said("dev")), 2)
	r.stop()
}

// Whatever step fails or is cut short when an identity that does not run goes back: it is where it was, or
// has gone back; and the request, which is still there, is done once, by the next start at the latest.
func TestGoBackFails(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	r.ask("run echo one")
	to := w.at(id, home.Moment{}).End
	r.ask("run echo two")
	r.stop()
	life, before := w.read(id.LIFE()), w.fold(id)
	for step, failed := 0, true; failed; step++ {
		lethetest.Must(t, os.WriteFile(id.LIFE(), []byte(life), 0o600))
		lethetest.Must(t, home.Ask(id, backTo(to)))
		var err error
		failed, err = w.failingAt(step, func() error { return journal.BranchOffline(w.home, id, w.store) })
		if failed != (err != nil) {
			t.Errorf("step %d: %v", step, err)
		}
		if s := w.fold(id); s.Epoch != before.Epoch && (s.Epoch != before.Epoch+1 || len(s.Live) >= len(before.Live)) {
			t.Errorf("step %d: epoch %d with %d entries", step, s.Epoch, len(s.Live))
		}
		if home.Asked(id, backTo(to)) { // as the next start does
			lethetest.Must(t, journal.BranchOffline(w.home, id, w.store))
		}
		s := w.fold(id)
		if n := len(w.having(id, "epoch", "why", "branch")); n != 1 || home.Asked(id, backTo(to)) || s.Live[len(s.Live)-1].Kind != mind.Note {
			t.Errorf("step %d: gone back %d times, still asked: %v", step, n, home.Asked(id, backTo(to)))
		}
	}
	r = w.run(id)
	r.ask("what now?")
	r.stop()
	w.conserved(id)
}
