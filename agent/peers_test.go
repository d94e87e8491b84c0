package agent

import (
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/rehearsal"
)

// silent waits until two identities have nothing more to say in room dev, and returns how much agents have said there.
func (w *world) silent(one, other *running) (said int) {
	w.Helper()
	w.eventually("both are quiet", func() bool {
		said = len(w.said("dev"))
		return one.idle() && other.idle() && said == len(w.said("dev"))
	})
	return said
}

// Two agents in one room stop by themselves, and a user sets them off again.
func TestTwoAgentsStop(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*rehearsal.Answer{
		"chatter":            text("And what do you think?"),
		"end of their steps": calls("LIST", `{"path":"."}`),
	} {
		w := newWorld(t, rehearsal.Step{Times: -1, Answer: answer})
		w.conf.MaxAgentTurns, w.conf.MaxSteps = 3, 2
		ada, bob := w.run(w.boot("ada", "dev")), w.run(w.boot("bob", "dev"))
		said := w.silent(ada, bob)
		for _, line := range []string{"talk to each other", "once more"} {
			w.say("dev", "ann", line)
			w.answered("dev", said+2)
			n := w.silent(ada, bob)
			if n > said+2+2*3 {
				t.Errorf("%s: they said %d things to each other", name, n-said)
			}
			said = n
		}
		ada.stop()
		bob.stop()
		if answer.Text == "" {
			contains(t, w.said("dev")[0], "I stopped after 2 steps")
			continue
		}
		for _, r := range []*running{ada, bob} {
			heard := strings.Join(w.heard(r.id, "dev"), "\n")
			equal(t, "what "+r.id.Name+" heard", strings.Count(heard, answer.Text), said/2)
		}
	}
}

// The bound holds for two that SAY in the middle of each turn: a final text that goes to a line behind a SAY is one more
// answer. A person is answered all the same, and sets them off again.
func TestTwoAgentsThatSayStop(t *testing.T) {
	t.Parallel()
	const turns = 3
	hasSaid := func(r *rehearsal.Request) bool {
		for _, m := range slices.Backward(r.Messages) {
			if m.Role == "assistant" {
				return len(m.Calls) > 0
			}
		}
		return false
	}
	w := newWorld(t, rehearsal.Step{Match: hasSaid, Times: -1, Answer: text("And you?")},
		rehearsal.Step{Times: -1, Answer: calls("SAY", `{"room":"dev","message":"What do you think?"}`)})
	w.conf.MaxAgentTurns = turns
	ada, bob := w.run(w.boot("ada", "dev")), w.run(w.boot("bob", "dev"))
	for range 3 {
		said, asked := w.silent(ada, bob), len(w.asked())
		w.say("dev", "ann", "talk to each other")
		w.answered("dev", said+2)
		most := 2 * (1 + turns + 1) // to the person, to agents, and the end of the last turn
		if n := w.silent(ada, bob) - said; n > most {
			t.Errorf("they said %d things to each other, more than %d", n, most)
		}
		if n := len(w.asked()) - asked; n > 2*most {
			t.Errorf("%d requests for one line of a person", n)
		}
	}
	ada.stop()
	bob.stop()
}
