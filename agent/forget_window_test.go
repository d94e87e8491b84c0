package agent

import (
	"fmt"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm/rehearsal"
)

// TestSmallWindow meets a provider that takes less than was believed, and says
// how much: the life learns it, once, and for good.
func TestSmallWindow(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w := newWorld(t)
	w.reserve(rehearsal.Options{Window: 19_000, Script: []rehearsal.Step{noted()}})
	w.conf.ContextLimit = 100_000 // of which the answer alone has 16384
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.talkAtLength(1, 30, 100)
	r.finish()
	equal(t, "overflows", len(w.errorsOf(id, "overflow")), 1)
	equal(t, "window", w.fold(id).Window, 19_000)
	equal(t, "pauses", len(w.events(id, "paused")), 0)
	w.conserved(id)
	s, err := status.Read(id.Dir)
	lethetest.Must(t, err)
	equal(t, "limit that is shown", s.ContextLimit, 19_000)

	seen := len(w.asked())
	r = w.run(id)
	w.talkAtLength(31, 45, 100)
	r.finish()
	equal(t, "overflows", len(w.errorsOf(id, "overflow")), 1)
	for _, q := range w.asked()[seen:] {
		equal(t, "refused", q.Refused, "")
	}
	w.conserved(id)

	// Another model need not have the same window.
	r = w.run(id, func(c *Config) { c.Params.Model = "deepseek-flash" })
	r.finish()
	equal(t, "window", w.fold(id).Window, 0)
}

// Without a number it is guessed; the second refusal in a row is told and waited
// on, and what a person says is worth a smaller try.
func TestOverflowWithoutNumber(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	refusal := rehearsal.Step{Task: "none", Skip: 20, Times: 2, Status: 400,
		Body: `{"error":{"message":"the prompt exceeds the context window","type":"invalid_request_error"}}`}
	w, _ := forgetful(t, 60_000, refusal, noted())
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.talkAtLength(1, 20, 100)
	w.say("dev", "ann", "what now?")
	contains(t, w.answered("dev", 21), "The model refuses")
	r.waitFor(status.Paused, "")
	equal(t, "overflows", len(w.errorsOf(id, "overflow")), 2)
	equal(t, "pauses", len(w.events(id, "paused")), 1)
	first, _ := event.As[event.Error](w.events(id, "error")[0])
	second, _ := event.As[event.Error](w.events(id, "error")[1])
	if first.Window >= 40_000 || second.Window >= first.Window {
		t.Errorf("learned windows of %d and %d tokens", first.Window, second.Window)
	}
	w.say("dev", "ann", "and now?")
	equal(t, "answer", w.answered("dev", 22), "noted")
	r.finish()
	s := w.fold(id)
	equal(t, "window", int64(s.Window), int64(second.Window))
	equal(t, "overflows in a row", s.Overflows, 0)
	w.conserved(id)
	// None of the refused requests was repeated as it was.
	seen := map[blobs.Hash]bool{}
	for _, q := range w.asked() {
		if h := blobs.Sum(q.Body); seen[h] {
			t.Error("the same request was made twice")
		} else {
			seen[h] = true
		}
	}
}

// A limit is refused with the number that is needed, and that number is enough to
// live with.
func TestLeastLimit(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	soul := strings.Repeat("You are a soul of many words. ", 4000)
	w, g := forgetful(t, 10_000, noted())
	id, err := Boot(w.home, w.store, BootOptions{Name: "ada", Soul: soul, Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	_, err = w.try(id)
	if err == nil {
		t.Fatal("10000 tokens are enough")
	}
	var need int
	if _, serr := fmt.Sscanf(err.Error()[strings.LastIndex(err.Error(), "at least ")+len("at least "):], "%d", &need); serr != nil {
		t.Fatalf("%v: %v", err, serr)
	}
	_, err = w.try(id, func(c *Config) { c.ContextLimit = need - 300 })
	if err == nil {
		t.Errorf("%d tokens are needed, and 300 fewer are enough", need)
	}
	w.conf.ContextLimit, g.limit = need, need
	r := w.measured(g, id)
	w.talkAtLength(1, 12, 300)
	r.checked(g)
	r = w.measured(g, id) // with all that it remembers, too
	w.talkAtLength(13, 14, 150)
	r.finish()
	equal(t, "pauses", len(w.events(id, "paused")), 0)
	w.conserved(id)
	t.Logf("a soul of %d bytes needs %d tokens; the largest request had %d", len(soul), need, g.largest)
}

// However small the window turns out to be, what is forgotten makes the request
// fit, as long as anything does.
func TestShrinkingWindow(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	rules := []string{"always mind rule-%d of the house. ", ""}
	rules = rules[:lethetest.Sample(1, 1, 2)]
	for _, rule := range rules {
		w, g := forgetful(t, 40_000, noted())
		w.conf.Forgetting.Mechanical = true
		id := w.boot("ada", "dev")
		r := w.measured(g, id)
		for i := 1; i <= 30; i++ {
			w.say("dev", "ann", strings.ReplaceAll(rule, "%d", fmt.Sprint(i))+remark(i, 200))
			w.answered("dev", i)
		}
		r.finish()
		r = w.run(id, dieAt("inbound", 1))
		w.say("dev", "ann", remark(31, 550)) // unread, and larger than a small window
		r.killed()
		w.conserved(id)
		for _, window := range []int{20_000, 14_000, 10_000, 8_000, 7_000, 6_000} {
			a, err := Open(id, w.conf)
			lethetest.Must(t, err)
			before := a.contextTokens()
			lethetest.Must(t, a.commit(record{event: event.Error{ID: "k1", What: "overflow", Window: window, Text: "too long"}}))
			lethetest.Must(t, a.makeRoom())
			if n := a.contextTokens(); n > window || a.state.Paused != "" {
				t.Errorf("in a window of %d tokens it has %d of %d left (%s)", window, n, before, a.state.Paused)
			}
			lethetest.Must(t, a.Close())
			w.conserved(id)
		}
		s := w.fold(id)
		t.Logf("at last %d entries are live, the past has %d ranges and %d pins", len(s.Live), len(s.Faded), len(s.Pins))
	}
}

// What cannot be made to fit is said in one line, and waited on.
func TestStuck(t *testing.T) {
	t.Parallel()
	w, g := forgetful(t, 16_000, noted())
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.talk(1, 2)
	r.finish()
	g.agent = nil
	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	lethetest.Must(t, a.commit(record{event: event.Error{ID: "k1", What: "overflow", Window: 3000, Text: "no more than 3000"}}))
	lethetest.Must(t, a.Close())
	asked, before := len(w.asked()), w.fold(id)
	w.say("dev", "ann", "hello?") // before it runs: idle, it would let something fade
	r = w.run(id)
	contains(t, w.answered("dev", 3), "the context cannot be brought under its limit of 3000 tokens")
	r.waitFor(status.Paused, "")
	equal(t, "pauses", len(w.events(id, "paused")), 1)
	r.stop()
	equal(t, "requests", len(w.asked()), asked)
	equal(t, "what had faded before", len(w.fold(id).Faded), len(before.Faded))
	w.conserved(id)

	r = w.run(id, func(c *Config) { c.Params.Model = "deepseek-flash" }) // which takes more
	contains(t, w.answered("dev", 4), "noted")
	r.finish()
}
