package agent

import (
	"fmt"
	"math/rand/v2"
	"os"
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
	if testing.Short() || raceEnabled {
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
	last := w.parse(w.asked()[len(w.asked())-1].Body)
	contains(t, string(last.first), "never push to main")
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
	for i, q := range w.asked() {
		if !strings.Contains(string(q.Body), "must never push to main") {
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
	contains(t, string(w.parse(w.asked()[len(w.asked())-1].Body).first), "◆ pins")
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
		r.settled()
	}
	r.stop()
	equal(t, "compactions", w.epochsFor(id, "agent"), 1)
	equal(t, "segment tasks", w.tasks("segment"), 1)
	results := w.events(id, "result")
	contains(t, w.body(results[len(results)-1], 0), "little has come in since")
}

// What the agent writes into its own instructions is in the next task; what is
// broken gives way, and it is told once, in all its runs.
func TestOwnInstructions(t *testing.T) {
	t.Parallel()
	w, _ := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.run(id)
	n := 0
	work := func() {
		for i := range 5 {
			w.say("dev", "ann", fmt.Sprintf("run seq %d %d", i, i+900))
			n++
			w.answered("dev", n)
		}
		r.settled()
		was := w.epochsFor(id, "person")
		must(t, AskToCompact(id))
		w.eventually("the context is compacted", func() bool { return w.epochsFor(id, "person") > was })
		r.settled()
	}
	notes := func() int {
		n := 0
		for _, e := range w.events(id, "note") {
			if e.Get("why") == "instructions" {
				n++
			}
		}
		return n
	}
	tasks := func(name string) (texts []string) {
		for _, q := range w.requests() {
			if q.task == name {
				texts = append(texts, q.last)
			}
		}
		return texts
	}
	must(t, os.WriteFile(w.own(id, "SEGMENT.md"), []byte("Cut by the phase of the moon."), 0o600))
	must(t, os.WriteFile(w.own(id, "SUMMARISE.md"), []byte("Sum it up like a sailor. ◆ e1 note"), 0o600))
	work()
	for _, s := range tasks("segment") {
		contains(t, s, "Cut by the phase of the moon.")
	}
	for _, s := range tasks("summarise") {
		contains(t, s, "Sum it up like a sailor. ◰4 e1 note")
	}
	equal(t, "notes", notes(), 0)

	must(t, os.WriteFile(w.own(id, "SEGMENT.md"), []byte(" \n"), 0o600))
	seen := len(tasks("segment"))
	work()
	r.stop()
	r = w.run(id)
	work()
	r.stop()
	equal(t, "notes", notes(), 1)
	for _, s := range tasks("segment")[seen:] {
		contains(t, s, "Cut the entries into chunks, each about one thing")
	}
	w.conserved(id)
}

func TestMechanicalMode(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 18_000)
	w.conf.Forgetting.Mechanical = true
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	for i := range 25 {
		w.say("dev", "ann", fmt.Sprintf("run seq %d %d", i, i+500))
		w.answered("dev", i+1)
	}
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
	epochs, _ := w.stable()
	if epochs < 3 {
		t.Errorf("only %d epochs", epochs)
	}
	equal(t, "tasks", w.tasks(""), 0)
	equal(t, "lines of cost", len(w.events(id, "spent")), 0)
}

// In the classic order MEMORY and LIFE go last, and count.
func TestForgettingInTailOrder(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 18_000, noted())
	w.conf.Params.Order = mind.OrderTail
	id := w.boot("ada", "dev")
	must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte(strings.Repeat("Ann likes teal. ", 200)), 0o600))
	r := w.measured(g, id)
	w.talkAtLength(1, 25, 120)
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
	for _, q := range w.requests() {
		if q.task == "" && !strings.Contains(q.last, "◆ life") {
			t.Fatalf("a request does not end with LIFE: %.300s", q.last)
		}
		if strings.Contains(string(q.first), "◆ life") {
			t.Fatal("LIFE stands in the past too")
		}
	}
	if s := w.fold(id); s.Epoch < 2 {
		t.Errorf("it is in epoch %d", s.Epoch)
	}
}

// Another model is asked with requests that stand alone.
func TestOtherModel(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 40_000)
	w.conf.Forgetting.Model = "deepseek-flash"
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	for i := range 8 {
		w.say("dev", "ann", fmt.Sprintf("run seq %d %d", i, i+900))
		w.answered("dev", i+1)
	}
	r.settled()
	must(t, AskToCompact(id))
	w.eventually("the context is compacted", func() bool { return w.epochsFor(id, "person") == 1 })
	r.settled()
	r.stop()
	g.held(t)
	w.conserved(id)
	for _, q := range w.requests() {
		want := `"rehearsal"`
		if q.task != "" {
			want = `"deepseek-flash"`
			equal(t, "it stands alone", q.alone(), true)
			if !strings.Contains(q.last, "◆ e2 inbound") || !strings.Contains(q.last, "◆ memory") {
				t.Errorf("what it is about is missing: %.300s", q.last)
			}
		}
		equal(t, "model", q.rest["model"], want)
	}
	if w.tasks("") < 2 {
		t.Fatal("nothing was asked")
	}
	total := w.model.Usage()
	equal(t, "tokens that the life knows of", w.fold(id).Usage.Input, int64(total.Input))
	if usd := w.fold(id).Usage.USD; usd <= 0 {
		t.Errorf("it cost %f", usd)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, target := range []float64{0, 1} {
		w, g := forgetful(t, 20_000, noted())
		w.conf.Forgetting.Target = &target
		id := w.boot("ada", "dev")
		r := w.measured(g, id)
		for i := 1; i <= 24; i++ {
			w.talkAtLength(i, i, 150)
			r.rested()
		}
		r.stop()
		g.held(t)
		w.conserved(id)
		epochs, _ := w.stable()
		t.Logf("target %g: %d epochs, %d tasks, %d requests", target, epochs, w.tasks(""), len(w.asked()))
		if epochs < 3 || epochs > 20 {
			t.Errorf("target %g: %d epochs", target, epochs)
		}
		if full := w.epochsFor(id, "full"); (full > 0) != (target < 1) {
			t.Errorf("target %g: %d compactions before the limit was reached", target, full)
		}
	}
}
