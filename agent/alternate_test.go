package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/lethetest"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// turns are the messages of the last request, each with its role. It checks that
// the roles of all requests take turns.
func (w *world) turns() []string {
	w.Helper()
	var out []string
	for i, q := range w.asked() {
		if q.Refused != "" {
			w.Fatalf("request %d was refused: %s", i, q.Refused)
		}
		var messages []struct{ Role, Content string }
		lethetest.Must(w, json.Unmarshal(append(sentOf(w, q.Body).messages, ']'), &messages))
		out = nil
		for k, m := range messages {
			out = append(out, m.Role+": "+m.Content)
			if k == 0 {
				continue
			}
			switch pair := messages[k-1].Role + " " + m.Role; pair {
			case "system user", "user assistant", "assistant user", "assistant tool", "tool tool", "tool assistant":
			default:
				w.Errorf("request %d has %s", i, pair)
			}
		}
	}
	return out
}

// isFiller reports whether a request is about a line of world.filler.
func isFiller(r *rehearsal.Request) bool { return strings.Contains(r.Last().Text(), "\n[USER:bob ") }

// A hint is no answer to what it comes behind: the line is answered and its
// command done, and so is what a tool gave.
func TestHintWhereRolesTakeTurns(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	for _, preset := range []string{"custom", "llamacpp"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, rehearsal.Step{Contains: "open the door", Answer: calls("READ_FILE", `{"path":"barometer-of-the-harbour-pilots.txt"}`)},
				rehearsal.Step{Match: isFiller, Times: -1, Answer: text("I see.")})
			w.conf.Model = w.client(llm.Config{Preset: preset}) // of a provider whose roles take turns
			w.conf.ContextLimit = 17_000
			w.conf.Forgetting.Mechanical = true
			w.conf.Recall.HintTime = time.Minute
			r := w.run(w.boot("ada", "dev"))
			w.ask("dev", "the lighthouse keeper's code is 7431")
			n := 1
			w.filler(&n, 3) // so that it fades apart from what follows
			w.say("dev", "ann", "the barometer of the harbour pilots is broken")
			n++
			w.answered("dev", n)
			w.filler(&n, 30)
			r.indexed()

			w.say("dev", "ann", "run echo the code of the lighthouse keeper")
			n++
			answer := w.answered("dev", n)
			r.settled()
			equal(t, "hints", len(w.events(r.id, mind.Hint)), 1)
			equal(t, "calls", len(w.events(r.id, "call")), 1)
			contains(t, answer, "the code of the lighthouse keeper")
			ask := w.turns()
			contains(t, ask[len(ask)-3], "[USER:ann ")
			contains(t, ask[len(ask)-3], "\n\n◆ e")

			w.say("dev", "ann", "open the door")
			n++
			answer = w.answered("dev", n)
			r.settled()
			contains(t, answer, "open the door")
			ask = w.turns()
			equal(t, "hints", len(w.events(r.id, mind.Hint)), 2)
			if last := ask[len(ask)-1]; !strings.HasPrefix(last, "tool: ") || !strings.Contains(last, " hint\n") {
				t.Errorf("the last message is %s", last)
			}
			w.stable()
			equal(t, "fillers", strings.Contains(strings.Join(ask, "\n"), "(noted)"), false)
			r.stop()
		})
	}
}

// MEMORY and LIFE at the end are no answer either.
func TestTailWhereRolesTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Model = w.client(llm.Config{Preset: "custom"})
	w.conf.Params.Order = mind.OrderTail
	id := w.boot("ada", "dev")
	r := w.run(id)
	for i := range 3 {
		w.say("dev", "ann", fmt.Sprintf("run echo number%d", i))
		equal(t, "answer", w.answered("dev", i+1), fmt.Sprintf("BASH `echo number%[1]d` gave: number%[1]d", i))
	}
	r.settled()
	ask := w.turns()
	if last := ask[len(ask)-1]; !strings.HasPrefix(last, "tool: ") || !strings.Contains(last, "\n\n◆ memory\n") {
		t.Errorf("the last message is %s", last)
	}
	r.stop()
}

// What somebody says while a tool runs is answered, and so is what it ran for.
func TestSaidWhereRolesTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Model = w.client(llm.Config{Preset: "custom"})
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.say("dev", "ann", "run while [ ! -e go ]; do sleep 0.01; done; echo alpha")
	w.eventually("it runs", func() bool { return len(w.events(id, "call")) == 1 })
	w.say("dev", "ann", "run echo beta")
	lethetest.Must(t, os.WriteFile(filepath.Join(id.Dir, "workspace", "go"), nil, 0o600))
	answer := w.answered("dev", 1)
	r.settled()
	contains(t, answer, "alpha")
	contains(t, answer, "beta")
	equal(t, "answers", len(w.said("dev")), 1)
	ask := w.turns()
	contains(t, strings.Join(ask, "\n"), "assistant: (not finished yet)\nuser: ◆ e")
	w.stable()
	r.stop()
}
