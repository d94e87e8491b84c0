package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/part"
	"lethe/agent/prompt"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
)

// With another model comes its window, and its largest answer.
func TestWindowOfAnotherModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	small := llm.Info{Window: 40_000, Output: 2000}
	w.conf.ContextLimit, w.conf.Offline, w.conf.Known = 0, false, llm.Known{"rehearsal-small": small}
	id, r := w.ada()
	r.ask("hello")
	r.settled()
	equal(t, "limit", w.status(id).ContextLimit, prompt.DefaultLimit)
	r.ask("/model rehearsal-small")
	r.ask("hello")
	r.settled()
	equal(t, "limit", w.status(id).ContextLimit, 40_000)
	equal(t, "answer", w.fold(id).Stable.Params.MaxTokens, 2000)
	r.ask("/model rehearsal")
	r.ask("hello")
	r.settled()
	equal(t, "limit", w.status(id).ContextLimit, prompt.DefaultLimit)
	equal(t, "answer", w.fold(id).Stable.Params.MaxTokens, 16<<10)
	r.finish()
}

// The cost of the next request is told before it is sent: what the provider's cache will serve of it has been sent in
// the same epoch.
func TestCostBefore(t *testing.T) {
	slow(t)
	w, id, r := start(t)
	cost := func() prompt.Cost {
		s := w.fold(id)
		return prompt.CostOf(s, prompt.PartsOf(id, s, prompt.DefaultLimit), nil, s.Stable.Params.Model, time.Now())
	}
	for i := range 4 {
		if i == 2 {
			w.talk(8, 400)
			r.settled()
			r.compact()
			equal(t, "served to a new epoch", cost().Cached, 0)
		}
		told, before := cost(), w.fold(id).Usage
		r.ask("hello")
		r.settled()
		in, cached := w.fold(id).Usage.Input-before.Input, w.fold(id).Usage.Cached-before.Cached
		if (told.Cached > 0) != (i%2 == 1) || cached < int64(told.Cached)*9/10 || in < int64(told.Input)*8/10 {
			t.Errorf("told %+v, then it was %d, of which %d came from the cache", told, in, cached)
		}
	}
	r.finish()
}

// TestSmallWindow meets a provider that takes less than was believed, and says
// how much: the life learns it, once, and for good.
func TestSmallWindow(t *testing.T) {
	slow(t)
	w := newWorld(t)
	w.serve(rehearsal.Options{Window: 19_000, Script: []rehearsal.Step{always("noted")}})
	w.conf.ContextLimit = 100_000 // of which the answer alone has 16384
	r := w.run(w.boot("ada", "dev"))
	for range 2 {
		w.talk(25, 100)
		r.settled()
		equal(t, "limit that is shown", w.status(r.id).ContextLimit, 19_000)
		r = r.again()
	}
	r.checked()
	w.has(r.id, 1, "error", "what", "overflow")
	equal(t, "window", w.fold(r.id).Window, 19_000)
	w.has(r.id, 0, "paused")
	equal(t, "requests that were refused", len(w.asked())-len(w.requests()), 1)
	// Another model need not have the same window.
	w.run(r.id, func(c *Config) { c.Params.Model = "deepseek-flash" }).finish()
	equal(t, "window", w.fold(r.id).Window, 0)
}

// Without a number it is guessed; the second refusal in a row is told and waited
// on, and what a person says is worth a smaller try.
func TestOverflowWithoutNumber(t *testing.T) {
	slow(t)
	refusal := rehearsal.Step{Task: "none", Skip: 20, Times: 2, Status: 400,
		Body: `{"error":{"message":"the prompt exceeds the context window","type":"invalid_request_error"}}`}
	w := forgetful(t, 60_000, refusal, always("noted"))
	r := w.run(w.boot("ada", "dev"))
	w.talk(20, 100)
	contains(t, r.ask("what now?"), "The model refuses")
	r.waitFor(status.Paused, "")
	w.has(r.id, 1, "paused")
	equal(t, "answer", r.ask("and now?"), "noted")
	errs := w.having(r.id, "error", "what", "overflow")
	equal(t, "overflows", len(errs), 2)
	first, _ := event.As[event.Error](errs[0])
	second, _ := event.As[event.Error](errs[1])
	if first.Window >= 40_000 || second.Window >= first.Window {
		t.Errorf("learned windows of %d and %d tokens", first.Window, second.Window)
	}
	r.finish()
	s := w.fold(r.id)
	equal(t, "window", s.Window, second.Window)
	equal(t, "overflows in a row", s.Overflows, 0)
	w.conserved(r.id)
	// None of the refused requests was repeated as it was.
	seen := map[blobs.Hash]bool{}
	for _, q := range w.asked() {
		h := blobs.Sum(q.Body)
		equal(t, "the same request was made before", seen[h], false)
		seen[h] = true
	}
}

// A limit is refused with the number that is needed, and that number is enough to
// live with.
func TestLeastLimit(t *testing.T) {
	slow(t)
	soul := strings.Repeat("You are a soul of many words. ", 4000)
	w := forgetful(t, 10_000, always("noted"))
	id, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada", Soul: soul, Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	was := w.read(id.LIFE())
	_, err = w.try(id)
	if err == nil {
		t.Fatal("10000 tokens are enough")
	}
	_, number, _ := strings.Cut(err.Error(), "at least ")
	var need int
	if _, serr := fmt.Sscanf(number, "%d", &need); serr != nil {
		t.Fatalf("%v: %v", err, serr)
	}
	if _, err = w.try(id, func(c *Config) { c.ContextLimit = need - 300 }); err == nil || w.read(id.LIFE()) != was {
		t.Errorf("%d tokens are needed, and 300 fewer are enough, or something was recorded", need)
	}
	w.conf.ContextLimit, w.gauge.limit = need, need
	r := w.run(id)
	w.talk(12, 300)
	r.settled()
	r = r.again() // with all that it remembers, too
	w.talk(2, 150)
	r.checked()
	w.has(id, 0, "paused")
}

// shrink has a life that does not run learn of a smaller window.
func (w *world) shrink(id home.Identity, window int) *Agent {
	w.Helper()
	a, err := Open(id, w.conf)
	lethetest.Must(w, err)
	lethetest.Must(w, a.view.Commit(part.Record{Event: event.Error{ID: "k1", What: "overflow", Window: window, Text: "too long"}}))
	return a
}

// However small the window turns out to be, what is forgotten makes the request
// fit, as long as anything does.
func TestShrinkingWindow(t *testing.T) {
	slow(t)
	w := forgetful(t, 40_000, always("noted"))
	w.conf.Forgetting.Mechanical = true
	r := w.run(w.boot("ada", "dev"))
	for i := 1; i <= 30; i++ {
		w.ask("dev", fmt.Sprintf("always mind rule-%d of the house. ", i)+remark(i, 200))
	}
	r.settled()
	r = r.again(dieAt("inbound", 1))
	w.say("dev", "ann", remark(31, 550)) // unread, and larger than a small window
	r.killed()
	for _, window := range []int{20_000, 14_000, 10_000, 8_000, 7_000, 6_000} {
		a := w.shrink(r.id, window)
		before := a.thinker.contextTokens()
		lethetest.Must(t, a.forgetter.makeRoom())
		if n := a.thinker.contextTokens(); n > window || a.view.State.Paused != "" {
			t.Errorf("in a window of %d tokens it has %d of %d left (%s)", window, n, before, a.view.State.Paused)
		}
		lethetest.Must(t, a.Close())
		w.conserved(r.id)
	}
}

// What cannot be made to fit is said in one line, and waited on.
func TestStuck(t *testing.T) {
	t.Parallel()
	w := forgetful(t, 16_000, always("noted"))
	r := w.run(w.boot("ada", "dev"))
	w.talk(2, 60)
	r.finish()
	lethetest.Must(t, w.shrink(r.id, 1000).Close())
	asked, before := len(w.asked()), w.fold(r.id)
	w.say("dev", "ann", "hello?") // before it runs: idle, it would let something fade
	r = w.run(r.id)
	contains(t, w.answered("dev", 3), "the context cannot be brought under its limit of 1000 tokens")
	r.waitFor(status.Paused, "")
	w.has(r.id, 1, "paused")
	equal(t, "requests", len(w.asked()), asked)
	equal(t, "what had faded before", len(w.fold(r.id).Faded), len(before.Faded))
	r = r.again(func(c *Config) { c.Params.Model = "deepseek-flash" }) // which takes more
	contains(t, w.answered("dev", 4), "noted")
	r.finish()
	w.conserved(r.id)
}

// A life that was booted with a limit can be opened with it, whatever its server has counted.
func TestOpenedWhateverIsCounted(t *testing.T) {
	t.Parallel()
	w := forgetful(t, 16_000)
	a, err := Open(w.boot("ada", "dev"), w.conf)
	lethetest.Must(t, err)
	a.thinker.estimate = a.thinker.estimate.Observe(a.thinker.request().Weight(), 1_000_000_000)
	lethetest.Must(t, a.cfg.checkLimit(a.view.ID, a.view.State.Stable, a.view.Tools))
	lethetest.Must(t, a.Close())
}

// What is shown of an identity that has stopped is what it went by, whatever its server counts.
func TestShownAsGoneBy(t *testing.T) {
	t.Parallel()
	w := forgetful(t, 30_000)
	r := w.run(w.boot("ada", "dev"))
	r.work(4)
	ran := w.status(r.id).ContextTokens
	r.stop()
	if shown := prompt.PartsOf(r.id, w.fold(r.id), 30_000).Total; ran == 0 || shown != ran {
		t.Errorf("%d tokens are shown of it, and %d when it ran", shown, ran)
	}
}

// A window of 8,192 tokens is enough for a life that works, forgets, and remembers: its requests say less of its tools.
func TestWindowOf8k(t *testing.T) {
	t.Parallel()
	w := forgetful(t, 8192, on("work", calls("WRITE_FILE", `{"path":"notes.txt","content":"all is well"}`,
		"BASH", `{"command":"cat notes.txt"}`)), always("noted"))
	r := w.run(w.boot("ada", "dev"))
	equal(t, "answer", r.ask("do your work"), "noted")
	w.talk(20, 100)
	r.settled()
	r = r.again()
	w.talk(5, 100)
	r.settled()
	equal(t, "limit", w.status(r.id).ContextLimit, 8192)
	w.has(r.id, 0, "paused")
	if tools := w.newest().rest["tools"]; strings.Contains(tools, `"SPAWN"`) || !strings.Contains(tools, `"RECALL"`) {
		t.Errorf("tools %s", tools)
	}
	if faded := len(w.fold(r.id).Faded); faded == 0 {
		t.Error("nothing has faded")
	}
	r.checked()
}

// cutting is a server that keeps the end of a prompt, and counts that alone.
type cutting struct {
	Model
	window int
	odd    int // the number of a request that is counted wrong; 0: all have their real count up to the window
	asked  int
}

func (m *cutting) Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	reply, err := m.Model.Complete(ctx, r, on)
	if m.asked++; m.odd == 0 || m.odd == m.asked {
		reply.Usage.Input = min(reply.Usage.Input, m.window)
	}
	return reply, err
}

// A server that drops what its window does not hold says so in its counts alone. They teach nothing. The life keeps to
// that window, and says so once; when it starts again, it looks whether somebody has mended the server.
func TestCutWithoutAWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("noted"))
	w.conf.ContextLimit = 100_000
	server := &cutting{Model: w.gauge, window: 20_000}
	w.conf.Model = server
	r := w.run(w.boot("ada", "dev"))
	for range 12 {
		w.talk(1, 600)
		r.settled()
	}
	equal(t, "limit that is shown", w.status(r.id).ContextLimit, 20_000)
	equal(t, "lines that tell", w.times(w.path("dev"), "Give the server a larger window"), 1)
	contains(t, strings.Join(w.status(r.id).Trouble, "; "), "drops what is beyond 20000 tokens")
	late := w.requests()
	if n := (llm.Estimator{}).Tokens(len(late[len(late)-1].messages)); n > 20_000 {
		t.Errorf("the newest request has some %d tokens", n)
	}
	server.window = 1_000_000
	r = r.again()
	r.ask("hello")
	r.settled()
	equal(t, "limit", w.status(r.id).ContextLimit, 100_000)
	equal(t, "trouble", len(w.status(r.id).Trouble), 0)
	r.finish()
	w.conserved(r.id)
}

// One odd count shrinks no life.
func TestOneOddCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("noted"))
	w.conf.ContextLimit = 100_000
	w.conf.Model = &cutting{Model: w.gauge, window: 500, odd: 3}
	r := w.run(w.boot("ada", "dev"))
	for range 6 {
		w.talk(1, 300)
		r.settled()
	}
	w.has(r.id, 0, "error")
	equal(t, "limit", w.status(r.id).ContextLimit, 100_000)
	r.checked()
}

// A window in which no conversation has room stops the identity, which says how the server is mended.
func TestCutBelowAllUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("noted"))
	w.conf.ContextLimit = 100_000
	w.conf.Model = &cutting{Model: w.gauge, window: 1024}
	r := w.run(w.boot("ada", "dev"))
	w.talk(1, 300)
	r.settled()
	w.talk(1, 300)
	r.settled()
	w.say("dev", "ann", "still there?")
	r.waitFor(status.Paused, "")
	r.finish()
	lines := w.said("dev")
	contains(t, lines[len(lines)-1], "I cannot think")
	contains(t, lines[len(lines)-1], "OLLAMA_CONTEXT_LENGTH")
}
