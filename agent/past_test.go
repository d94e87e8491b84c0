package agent

import (
	"os"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/lethetest"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// RECALL says so when something that may match cannot be read, whether there is
// something else or not.
func TestRecallOfWhatIsLost(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, r, answered := forgotten(t,
		rehearsal.Step{Contains: "please search", Answer: calls("RECALL", `{"query":"Bosun"}`)},
		rehearsal.Step{Contains: "please look", Answer: calls("RECALL", `{"query":"Bosun, or the weather"}`)})
	lost := 0
	for _, f := range w.fold(r.id).Faded {
		body, err := w.bodyOf(f.Original.Hash)
		lethetest.Must(t, err)
		if strings.Contains(string(body), "Bosun") {
			lethetest.Must(t, os.Remove(w.store.Path(f.Original.Hash)))
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

// The identity can search by itself.
func TestRecallTool(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, r, answered := forgotten(t,
		rehearsal.Step{Contains: "please search", Answer: calls(
			"RECALL", `{"query":"dog of the lighthouse keeper","limit":3}`,
			"RECALL", `{"query":"\"!? ( * ) --"}`,
			"RECALL", `{"query":"zyzzyva quux"}`,
			"RECALL", `{"limit":3}`,
			"RECALL", `{"query":"NEAR(dog* OR \"keeper) -- '; DROP TABLE docs"}`)})
	w.say("dev", "ann", "please search")
	answered++
	w.answered("dev", answered)
	r.settled()
	var results []string
	for _, e := range w.events(r.id, "result") {
		results = append(results, e.Get("status")+" "+w.body(e, 0))
	}
	equal(t, "results", len(results), 5)
	for i, parts := range [][]string{
		{"ok matches: ", "hash=", " gist=", "room=dev", " offset=", "Bosun"},
		{"error the query holds no word"},
		{"ok nothing found"},
		{"error ", "query"},
		{"ok matches: ", "Bosun"},
	} {
		for _, part := range parts {
			contains(t, results[i], part)
		}
	}
	r.stop()
}

// What users send through a bridge is a blob of nobody's life. Naming it in a
// line lets the identity open it, and nothing else.
func TestReceivedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(gist, body string) string {
		h, err := w.store.Put(blobs.Meta{Gist: gist}, []byte(body))
		lethetest.Must(t, err)
		return w.store.Short(h)
	}
	sent, hidden := put("document notes.txt (text/plain, 20 bytes) from ann", "the harbour is closed"), put("a secret", "somebody else's")
	w.reserve(rehearsal.Options{Script: []rehearsal.Step{
		{Contains: "look at this", Answer: calls("READ_FILE", `{"path":"hash=`+sent+`"}`, "READ_FILE", `{"path":"hash=`+hidden+`"}`)},
		{Times: -1, Answer: text("I have read it.")},
	}})
	id := w.boot("ada", "dev")
	r := w.run(id)
	w.say("dev", "ann", "[document notes.txt 20 B hash="+sent+"] look at this")
	w.answered("dev", 1)
	r.settled()
	r.stop()
	results := w.events(id, "result")
	equal(t, "results", len(results), 2)
	contains(t, w.body(results[0], 0), "the harbour is closed")
	equal(t, "status", results[1].Get("status"), mind.Failed)
	contains(t, w.body(results[1], 0), "no such blob")
}
