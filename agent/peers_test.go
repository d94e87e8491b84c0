package agent

import (
	"strings"
	"testing"

	"lethe/llm/rehearsal"
)

// Two agents in one room stop by themselves, and a user sets them off again.
func TestTwoAgentsStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("And what do you think?")})
	w.conf.MaxAgentTurns = 3
	ada, bob := w.run(w.boot("ada", "dev")), w.run(w.boot("bob", "dev"))
	ada.settled()
	bob.settled()
	quiet := func() int {
		t.Helper()
		ada.settled()
		bob.settled()
		w.eventually("both are quiet", func() bool {
			n := len(w.said("dev"))
			return ada.idle() && bob.idle() && n == len(w.said("dev"))
		})
		return len(w.said("dev"))
	}
	w.say("dev", "ann", "talk to each other")
	w.answered("dev", 4)
	first := quiet()
	if first > 2+2*3 {
		t.Errorf("they said %d things to each other", first)
	}
	w.say("dev", "ann", "once more")
	w.answered("dev", first+4)
	second := quiet()
	if second > first+2+2*3 {
		t.Errorf("they said %d things more", second-first)
	}
	ada.stop()
	bob.stop()
	for _, id := range []Identity{ada.id, bob.id} {
		heard := strings.Join(w.heard(id, "dev"), "\n")
		equal(t, "what "+id.Name+" heard", strings.Count(heard, "And what do you think?"), second/2)
	}
}

// Two agents at the end of their steps do not tell each other so for ever.
func TestTwoAgentsAtTheEndOfTheirSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: calls("LIST", `{"path":"."}`)})
	w.conf.MaxSteps = 2
	ada, bob := w.run(w.boot("ada", "dev")), w.run(w.boot("bob", "dev"))
	ada.settled()
	bob.settled()
	w.say("dev", "ann", "go on for ever")
	w.answered("dev", 2)
	ada.settled()
	bob.settled()
	w.put("dev", "[AGENT:eve 2026-11-20T12:57:16Z] and you?\n")
	ada.settled()
	bob.settled()
	ada.stop()
	bob.stop()
	for _, line := range w.said("dev")[:2] {
		contains(t, line, "I stopped after 2 steps")
	}
	equal(t, "lines of agents", len(w.said("dev")), 3)
}
