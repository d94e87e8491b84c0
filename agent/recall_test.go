package agent

import (
	"os"
	"strings"
	"testing"

	"lethe/llm/rehearsal"
)

// RECALL says so when something that may match cannot be read, whether there is
// something else or not.
func TestRecallOfWhatIsLost(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t,
		rehearsal.Step{Contains: "please search", Answer: calls("RECALL", `{"query":"Bosun"}`)},
		rehearsal.Step{Contains: "please look", Answer: calls("RECALL", `{"query":"Bosun, or the weather"}`)})
	lost := 0
	for _, f := range w.fold(r.id).Faded {
		body, err := w.bodyOf(f.Original.Hash)
		must(t, err)
		if strings.Contains(string(body), "Bosun") {
			must(t, os.Remove(w.store.Path(f.Original.Hash)))
			lost++
		}
	}
	if lost == 0 {
		t.Fatal("nothing is lost")
	}
	for _, what := range []string{"please search", "please look"} {
		w.say("dev", "ann", what)
		answered++
		w.answered("dev", answered)
		r.settled()
	}
	results := w.events(r.id, "result")
	equal(t, "results", len(results), 2)
	for _, e := range results {
		contains(t, w.body(e, 0), " that may match cannot be read")
	}
	contains(t, w.body(results[0], 0), "nothing found")
	contains(t, w.body(results[1], 0), "matches: ")
	r.stop()
}
