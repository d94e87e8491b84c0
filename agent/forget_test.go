package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lethe/internal/lethetest"
	"lethe/life/event"
)

// chores is a life's work, in the phrases that the rehearsal model follows.
func chores(r *rand.Rand, i int) string {
	switch r.IntN(7) {
	case 0:
		return fmt.Sprintf("run seq %d %d", i, i+200+r.IntN(900))
	case 1:
		return fmt.Sprintf("run echo build %d && ls -l / && seq 1 %d", i, r.IntN(400))
	case 2:
		return fmt.Sprintf("write part %d of %s to notes-%d.txt", i, strings.Repeat("the report ", r.IntN(60)), r.IntN(5))
	case 3:
		return fmt.Sprintf("list and read notes-%d.txt", r.IntN(5))
	case 4:
		return fmt.Sprintf("think about ticket-%d", i)
	case 5:
		return fmt.Sprintf("count to %d", 50+r.IntN(300))
	}
	return fmt.Sprintf("ticket-%d says that %s", i, strings.Repeat(fmt.Sprintf("the pump number %d is loud. ", i), 1+r.IntN(40)))
}

// TestLongLife lives through many epochs in a small context, with stops, kills
// and jobs cut short, and holds all of it against what is promised.
func TestLongLife(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	turns := lethetest.Sample(30, 50, 150)
	w, g := forgetful(t, 18_000)
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	rnd := rand.New(rand.NewPCG(1, 2))
	w.say("dev", "ann", "always answer in English and never push to main")
	w.answered("dev", 1)
	for i := 2; i <= turns; i++ {
		switch {
		case i%25 == 0:
			r.stop()
			r = w.measured(g, id)
		case i%25 == 12: // in the middle of things
			r.stop()
			r = w.run(id, dieAt("reply", 1))
			w.say("dev", "ann", chores(rnd, i))
			r.killed()
			r = w.measured(g, id)
			w.answered("dev", i)
			continue
		case i%10 == 4:
			w.say("dev", "ann", "compact")
			w.answered("dev", i)
			continue
		}
		w.say("dev", "ann", chores(rnd, i))
		w.answered("dev", i)
	}
	w.eventually("something has faded", func() bool { return len(w.fold(id).Faded) > 0 })
	w.say("dev", "ann", "uncompact hash="+w.fold(id).Faded[0].Original.Short)
	w.answered("dev", turns+1)
	r.checked(g)
	refs, ranges := w.conserved(id)
	if refs > 2 || ranges < turns/30 {
		t.Errorf("it takes %d refs to reach the oldest of %d ranges", refs, ranges)
	}
	epochs, forks := w.stable()
	if epochs < turns/30 {
		t.Errorf("only %d epochs", epochs)
	}
	t.Logf("%d turns, %d requests, %d epochs, %d forks, %d tasks, %d ranges, %d refs, largest request %d tokens",
		turns, len(w.asked()), epochs, forks, w.tasks(""), ranges, refs, g.largest)
	if w.tasks("segment") == 0 || w.tasks("summarise") == 0 {
		t.Error("no summary was asked for")
	}
	equal(t, "errors", len(w.events(id, "error")), 0)
	for i, q := range w.requests() {
		if !q.alone() && !strings.Contains(string(q.messages), "never push to main") {
			t.Fatalf("request %d has lost the promise", i)
		}
	}
}

// A job forks the life's own request: the same bytes and one message. COMPACT is
// refused soon after it.
func TestForks(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, g := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.work(1, 12)
	before := w.parse(w.asked()[len(w.asked())-1].Body)
	w.say("dev", "ann", "compact")
	w.answered("dev", 13)
	w.eventually("the context is compacted", func() bool { return w.epochsFor(id, "agent") == 1 })
	r.settled()
	w.say("dev", "ann", "compact")
	w.answered("dev", 14)
	r.checked(g)
	results := w.events(id, "result")
	contains(t, w.body(results[len(results)-1], 0), "little has come in since")
	_, forks := w.stable()
	equal(t, "forks", forks, w.tasks(""))
	if w.tasks("segment") != 1 || w.tasks("summarise") < 2 {
		t.Errorf("%d segment and %d summarise tasks", w.tasks("segment"), w.tasks("summarise"))
	}
	for _, q := range w.requests() {
		if q.task == "" {
			continue
		}
		if !strings.HasPrefix(string(q.head), string(before.messages)) {
			t.Errorf("a fork does not begin with what was asked before:\n%s", firstDifference(string(q.head), string(before.messages)))
		}
		if !strings.HasPrefix(q.last, "<task name=") {
			t.Errorf("the task is not a message of its own: %.100s", q.last)
		}
	}
	// Nearly all of a fork came from the cache, and the life knows what it cost.
	spent := w.events(id, "spent")
	equal(t, "lines of cost", len(spent), 1)
	if cost, _ := event.As[event.Spent](spent[0]); cost.In == 0 || cost.Cached*10 < cost.In*8 {
		t.Errorf("of %d tokens %d were cached", cost.In, cost.Cached)
	}
	total := w.model.Usage()
	equal(t, "tokens that the life knows of", w.fold(id).Usage.Input, int64(total.Input))
	equal(t, "output", w.fold(id).Usage.Output, int64(total.Output))
}

// A request from outside is read and an epoch begun.
func TestAskToCompact(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.work(1, 6)
	r.settled()
	r.compact()
	if CompactPending(id) {
		t.Error("the request is still there")
	}
	shows := fmt.Sprintf(" epoch=%d ", w.fold(id).Epoch)
	w.eventually("context.md shows it", func() bool { return strings.Contains(w.read(w.own(id, "context.md")), shows) })
	r.stop()

	w.say("dev", "ann", "run seq 1 900") // heard when it runs again
	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	before, after, err := a.Compact(t.Context())
	lethetest.Must(t, err)
	lethetest.Must(t, a.Close())
	if after >= before {
		t.Errorf("from %d tokens to %d", before, after)
	}
	contains(t, w.read(w.own(id, "context.md")), fmt.Sprintf("epoch=%d ", w.fold(id).Epoch))
	r = w.measured(g, id)
	w.answered("dev", 7)
	r.finish()
	w.conserved(id)
	w.stable()
}

// An empty life has nothing to forget, and says no more about it.
func TestNothingToForget(t *testing.T) {
	t.Parallel()
	w, _ := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.say("dev", "ann", "compact")
	contains(t, w.answered("dev", 1), "COMPACT")
	lethetest.Must(t, AskToCompact(id))
	w.eventually("the request is read", func() bool { return !CompactPending(id) })
	r.finish()
	equal(t, "epochs", len(w.events(id, "epoch")), 2) // boot and stop
	equal(t, "tasks", w.tasks(""), 0)
}
