package agent

import (
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
