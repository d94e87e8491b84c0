package agent

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/rehearsal"
)

// What a person must mend is told once, where the person is, and then waited for.
func TestPermanentError(t *testing.T) {
	t.Parallel()
	for _, code := range []int{401, 402} {
		retry := make(chan os.Signal, 1)
		w := newWorld(t, rehearsal.Step{Times: 4, Status: code}, always("well again"))
		w.conf.Retry = retry
		id, r := w.ada()
		contains(t, r.ask("hello"), "The model refuses: call rehearsal at 127.0.0.1")
		r.waitFor(status.Paused, "")
		w.put("dev", "[AGENT:bob 2026-11-20T12:57:16Z] an agent is nobody who mends\n")
		r.settled()
		equal(t, "model calls", len(w.asked()), 1)
		w.has(id, 1, "paused")
		contains(t, w.status(id).Error, "status 40")

		w.say("dev", "ann", "try again") // input
		contains(t, w.answered("dev", 3), "The model refuses")
		r.settled()
		equal(t, "model calls", len(w.asked()), 2)
		r = r.again() // it asks again when it is started again
		contains(t, w.answered("dev", 4), "The model refuses")
		r.settled()
		retry <- os.Interrupt // a person says that it is mended, and it is not
		contains(t, w.answered("dev", 5), "The model refuses")
		r.settled()
		retry <- os.Interrupt
		equal(t, "answer", w.answered("dev", 6), "well again")
		r.finish()
		equalSlices(t, "heard", w.heard(id, "dev"), []string{"hello", "an agent is nobody who mends", "try again"})
	}
}

// An outage is told once, survived, and a user's line is worth a try at once.
func TestOutage(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, rehearsal.Step{Times: 3, Status: 503}, always("back again"))
	contains(t, w.ask("dev", "hello"), "I keep trying, next in 5s.")
	equal(t, "a sentence that asks", sentence(errors.New("it refused. Is it running?")), "it refused. Is it running?")
	w.say("dev", "ann", "are you there?")
	w.eventually("a second try", func() bool { return len(w.asked()) >= 2 })
	w.say("dev", "ann", "and now?")
	w.eventually("a third try", func() bool { return len(w.asked()) >= 3 })
	w.until(id, 3, "error")
	r = r.again() // also in the middle of waiting
	equal(t, "answer", w.answered("dev", 2), "back again")
	r.finish()
	equal(t, "lines of the agent", len(w.said("dev")), 2)
}

// Without anybody's help it asks again by itself.
func TestOutagePasses(t *testing.T) {
	t.Parallel()
	w, _, r := start(t, rehearsal.Step{Fault: rehearsal.Truncate, Answer: text("half of an answer")},
		rehearsal.Step{Status: 503}, rehearsal.Step{Answer: text("a whole answer")})
	contains(t, w.ask("dev", "hello"), "next in 1m0s") // what broke off was paid for
	began := time.Now()
	equal(t, "answer", w.ask("dev", "well?"), "a whole answer")
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("it asked again after %v", took)
	}
	r.finish()
	if text := w.read(w.path("dev")); strings.Contains(text, "half of an answer") {
		t.Errorf("half an answer was posted:\n%s", text)
	}
}

// An answer that was paid for and is none is not asked for again for a minute.
func TestPaidGarbage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: &rehearsal.Answer{Text: "so", Finish: "tool_calls"}})
	log := w.listen()
	id := w.boot("ada", "dev")
	r := w.run(id)
	contains(t, w.ask("dev", "hello"), "announces tool calls and has none")
	w.eventually("it is logged", func() bool { return log.count("again_in=1m0s") == 1 })
	equal(t, "model calls", len(w.asked()), 1)
	r.stop()
}
