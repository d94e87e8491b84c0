package agent

import (
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/status"
	"lethe/internal/test/rehearsal"
)

// says are answers, one a request, that all count for one question.
func says(texts ...string) (steps []rehearsal.Step) {
	for _, t := range texts {
		steps = append(steps, rehearsal.Step{Answer: text(t)})
	}
	return steps
}

func gated(t *testing.T, g hook.Gate, texts ...string) (*world, home.Identity, *running) {
	w := newWorld(t, says(texts...)...)
	w.conf.Gate = g
	id := w.boot("ada", "dev")
	return w, id, w.run(id)
}

// What does not pass is recorded and told to the model alone, until it passes.
func TestGate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate      hook.Gate
		bad, good string
		told      string // to the model
	}{
		{hook.Gate{Check: "grep -q done || { echo 'nothing is done'; exit 3; }"}, "I tried", "all is done", "ended with exit 3. Its output:"},
		{hook.Gate{Schema: []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)}, `{"n":"one"}`,
			`{"n":1}`, "it does not fit the schema: "},
		{hook.Gate{Schema: []byte(`{"type":"integer"}`)}, "Here it is: 1", "1", "one JSON value with nothing around it"},
	} {
		w, id, r := gated(t, c.gate, c.bad, c.good, "not "+c.good)
		equal(t, "answer", r.ask("work"), c.good)
		contains(t, w.prompt(), c.told)
		refused := w.having(id, "reply", "refused", "yes")
		equal(t, "refused", len(refused), 1)
		contains(t, w.body(refused[0], 0), c.bad)
		r.checked()
		for _, line := range w.said("dev") {
			if strings.Contains(line, c.bad) || strings.Contains(line, "failed its check") {
				t.Errorf("said: %s", line)
			}
		}
	}
}

// Three are refused at most, and none twice, over any restart.
func TestGateHasAnEnd(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{Check: "false"}, "one", "two", "three", "four", "five", "five")
	answer := r.ask("work")
	equal(t, "answer", answer, "four\n\n(This answer did not pass: the check `false` ended with exit 1.)")
	w.has(id, 3, "reply", "refused", "yes")
	contains(t, r.ask("again"), "five\n\n(This answer did not pass")
	w.has(id, 4, "reply", "refused", "yes")
	r.checked()

	w = newWorld(t, says("one", "two", "three", "four")...)
	w.conf.Gate = hook.Gate{Check: "false"}
	id = w.boot("ada", "dev")
	w.say("dev", "ann", "work")
	for range 3 {
		w.dies(id, "reply", 1)
	}
	r = w.run(id)
	r.settled()
	equalSlices(t, "said", w.said("dev"), []string{"four\n\n(This answer did not pass: the check `false` ended with exit 1.)"})
	w.has(id, 3, "reply", "refused", "yes")
	r.checked()
}

// A /stop ends a check; what the answer cost is recorded, and what it said.
func TestGateStopped(t *testing.T) {
	t.Parallel()
	w, id, r := gated(t, hook.Gate{Check: "touch running; sleep 600"}, "half done")
	w.say("dev", "ann", "work")
	w.shows(id, "the check runs", func(s status.Status) bool { return s.State == status.Acting && s.Tool == "check" })
	w.say("dev", "ann", "/stop")
	equal(t, "answer", w.answered("dev", 1), "Stopped.")
	r.settled()
	w.has(id, 0, "reply")
	w.has(id, 1, "spent", "on", "turn")
	contains(t, w.body(w.having(id, "note", "why", "stop")[0], 0), "half done")
	r.finish()
}
