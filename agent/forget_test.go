package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lethe/llm/rehearsal"
	"lethe/mind"
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
	t.Parallel()
	turns := 150
	if testing.Short() {
		turns = 50
	}
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
	w.say("dev", "ann", "uncompact hash="+w.fold(id).Faded[0].Original.Short)
	w.answered("dev", turns+1)
	r.settled()
	r.stop()

	g.held(t)
	refs, ranges := w.conserved(id)
	if refs > 2 || ranges < turns/15 {
		t.Errorf("it takes %d refs to reach the oldest of %d ranges", refs, ranges)
	}
	epochs, forks := w.stable()
	if epochs < turns/15 {
		t.Errorf("only %d epochs", epochs)
	}
	t.Logf("%d turns, %d requests, %d epochs, %d forks, %d tasks, %d ranges, %d refs, largest request %d tokens",
		turns, len(w.asked()), epochs, forks, w.tasks(""), ranges, refs, g.largest)
	if w.tasks("segment") == 0 || w.tasks("summarise") == 0 {
		t.Error("no summary was asked for")
	}
	equal(t, "errors", len(w.events(id, "error")), 0)
	contains(t, string(w.newest().first), "never push to main")
}

// The promise is in each request of a life, whatever else has gone.
func TestPromisesStay(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 17_000, rehearsal.Step{Task: "none", Skip: 1, Times: -1, Answer: text("noted")})
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.say("dev", "ann", "remember that you must never push to main")
	for i := range 70 {
		w.say("dev", "ann", fmt.Sprintf("item %d: %s", i, strings.Repeat("many words about nothing. ", 80)))
		w.answered("dev", i+1)
	}
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
	for i, q := range w.requests() {
		if !q.alone() && !strings.Contains(string(q.messages), "must never push to main") {
			t.Fatalf("request %d has lost the promise", i)
		}
	}
	s := w.fold(id)
	levels := map[string]int{}
	for _, f := range s.Faded {
		levels[f.Level]++
	}
	if s.Epoch < 5 || levels[mind.Gist]+levels[mind.Card] == 0 {
		t.Errorf("after %d epochs the past is %v", s.Epoch, levels)
	}
	contains(t, string(w.newest().first), "◆ pins")
}

// A job forks the life's own request: the same bytes and one message.
func TestForks(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	for i := range 12 {
		w.say("dev", "ann", fmt.Sprintf("run seq %d %d", i, i+900))
		w.answered("dev", i+1)
	}
	before := w.parse(w.asked()[len(w.asked())-1].Body)
	w.say("dev", "ann", "compact")
	w.answered("dev", 13)
	w.eventually("the context is compacted", func() bool { return w.epochsFor(id, "agent") == 1 })
	r.settled()
	w.say("dev", "ann", "hello again")
	w.answered("dev", 14)
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
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
	if in, cached := spent[0].Int("in"), spent[0].Int("cached"); in == 0 || cached*10 < in*8 {
		t.Errorf("of %d tokens %d were cached", in, cached)
	}
	total := w.model.Usage()
	equal(t, "tokens that the life knows of", w.fold(id).Usage.Input, int64(total.Input))
	equal(t, "output", w.fold(id).Usage.Output, int64(total.Output))
}

// Who asks from outside finds the wish heard and an epoch begun.
func TestAskToCompact(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	for i := range 6 {
		w.say("dev", "ann", fmt.Sprintf("run seq %d %d", i, i+900))
		w.answered("dev", i+1)
	}
	r.settled()
	must(t, AskToCompact(id))
	w.eventually("the context is compacted", func() bool { return w.epochsFor(id, "person") == 1 })
	r.settled()
	if CompactPending(id) {
		t.Error("the wish is still there")
	}
	shows := fmt.Sprintf(" epoch=%d ", w.fold(id).Epoch)
	w.eventually("context.md shows it", func() bool { return strings.Contains(w.read(w.own(id, "context.md")), shows) })
	r.stop()

	w.say("dev", "ann", "run seq 1 900") // heard when it runs again
	a, err := Open(id, w.conf)
	must(t, err)
	before, after, err := a.Compact(t.Context())
	must(t, err)
	must(t, a.Close())
	if after >= before {
		t.Errorf("from %d tokens to %d", before, after)
	}
	contains(t, w.read(w.own(id, "context.md")), fmt.Sprintf("epoch=%d ", w.fold(id).Epoch))
	r = w.measured(g, id)
	w.answered("dev", 7)
	r.settled()
	r.stop()
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
	must(t, AskToCompact(id))
	w.eventually("the wish is heard", func() bool { return !CompactPending(id) })
	r.settled()
	r.stop()
	equal(t, "epochs", len(w.events(id, "epoch")), 2) // boot and stop
	equal(t, "tasks", w.tasks(""), 0)
}

// COMPACT again and again is refused, and costs nothing.
func TestCompactAgain(t *testing.T) {
	t.Parallel()
	w, _ := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.run(id)
	for i := range 6 {
		w.say("dev", "ann", fmt.Sprintf("run seq %d %d", i, i+900))
		w.answered("dev", i+1)
	}
	for i := range 4 {
		w.say("dev", "ann", "compact")
		w.answered("dev", 7+i)
		r.rested()
	}
	r.stop()
	equal(t, "compactions", w.epochsFor(id, "agent"), 1)
	equal(t, "segment tasks", w.tasks("segment"), 1)
	results := w.events(id, "result")
	contains(t, w.body(results[len(results)-1], 0), "little has come in since")
}
