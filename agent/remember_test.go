package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/status"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// filler is what pushes older things out of a context: n lines about nothing that
// anybody asks about.
func (w *world) filler(answered *int, n int) {
	w.Helper()
	for i := range n {
		w.say("dev", "bob", fmt.Sprintf("minute %d: %s", i, strings.Repeat("the weather stays as it is, grey and mild. ", 60)))
		*answered++
		w.answered("dev", *answered)
	}
}

// forgotten runs an identity that was told of a lighthouse, and has forgotten it.
func forgotten(t *testing.T, script ...rehearsal.Step) (w *world, r *running, answered int) {
	t.Helper()
	script = append(script, rehearsal.Step{Times: -1, Answer: text("I see.")})
	w, _ = forgetful(t, 17_000, script...)
	w.conf.Forgetting.Mechanical = true
	w.conf.Recall.HintTime = time.Minute
	id := w.boot("ada", "dev")
	r = w.run(id)
	w.say("dev", "ann", "the lighthouse keeper's code is 7431, and his dog is called Bosun")
	answered = 1
	w.answered("dev", answered)
	w.filler(&answered, 20)
	faded := false
	for _, f := range w.fold(id).Faded {
		body, err := w.bodyOf(f.Original.Hash)
		must(t, err)
		faded = faded || strings.Contains(string(body), "7431")
	}
	if !faded {
		t.Fatal("the lighthouse has not faded")
	}
	r.indexed()
	return w, r, answered
}

// indexed waits until all that has faded can be found.
func (r *running) indexed() {
	r.w.Helper()
	r.rested()
	fades := 0
	for _, e := range r.w.events(r.id, "fade") {
		if e.Get("to") == mind.Summary || e.Get("to") == mind.Gist {
			fades++
		}
	}
	r.w.eventually("the index is up to date", func() bool {
		index := r.agent.memory.index.Load()
		if index == nil {
			return false
		}
		added, err := index.Sync(r.w.Context(), r.w.store, r.id.LIFE(), nil)
		return err == nil && added == 0 && fades > 0
	})
}

// hintsAt are the hints of a life whose lines name an original that holds word.
func (w *world) hintsAt(id Identity, word string) int {
	w.Helper()
	n := 0
	for _, e := range w.events(id, mind.Hint) {
		for _, ref := range e.All("ref") {
			h, err := blobs.ParseHash(ref)
			must(w, err)
			body, err := w.bodyOf(h)
			must(w, err)
			if strings.Contains(string(body), word) {
				n++
			}
		}
	}
	return n
}

// What somebody says reminds the identity of what it forgot: by ref and gist, at
// the end, before it answers, and once.
func TestHint(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	equal(t, "hints before anybody asked", len(w.events(r.id, mind.Hint)), 0)
	w.say("dev", "ann", "what was the code of the lighthouse keeper?")
	answered++
	w.answered("dev", answered)
	r.settled()
	equal(t, "hints", w.hintsAt(r.id, "7431"), 1)
	e := w.events(r.id, mind.Hint)[0]
	equal(t, "why", e.Get("why"), "inbound")
	if n := len(e.All("ref")); n > hintLines {
		t.Errorf("a hint names %d refs", n)
	}
	h, err := blobs.ParseHash(e.All("ref")[0])
	must(t, err)
	asked := w.parse(w.asked()[len(w.asked())-1].Body)
	contains(t, asked.last, "hash="+w.store.Short(h)+" gist=")
	contains(t, asked.last, "◆ e")
	if strings.Contains(asked.last, "7431") && !strings.Contains(gistOf(t, w, h), "7431") {
		t.Error("the hint holds what it only ought to point at")
	}
	w.say("dev", "ann", "I ask again: the code of the lighthouse keeper?")
	answered++
	w.answered("dev", answered)
	r.settled()
	equal(t, "hints after the second question", w.hintsAt(r.id, "7431"), 1)
	r.stop()
	w.stable()

	// It is known after a resume too.
	r = w.run(r.id)
	w.say("dev", "ann", "once more, the lighthouse keeper's code?")
	answered++
	w.answered("dev", answered)
	r.settled()
	r.stop()
	equal(t, "hints after the third question", w.hintsAt(r.id, "7431"), 1)
}

func gistOf(t *testing.T, w *world, h blobs.Hash) string {
	b, err := w.store.Get(h)
	must(t, err)
	return b.Gist
}

// Nothing is said where nothing fits, nor when hints are off.
func TestNoHint(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	for _, line := range []string{"ok, thanks!", "good morning", "can you compile the kernel with clang?"} {
		w.say("dev", "ann", line)
		answered++
		w.answered("dev", answered)
	}
	r.settled()
	r.stop()
	equal(t, "hints", len(w.events(r.id, mind.Hint)), 0)
	r = w.run(r.id, func(c *Config) { c.Recall.NoHints = true })
	w.say("dev", "ann", "what was the code of the lighthouse keeper?")
	answered++
	w.answered("dev", answered)
	r.settled()
	r.stop()
	equal(t, "hints when they are off", len(w.events(r.id, mind.Hint)), 0)
}

// A tool that fails reminds it too, behind the whole unit.
func TestHintAfterFailure(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t, rehearsal.Step{Contains: "open the door", Answer: calls("READ_FILE", `{"path":"lighthouse-keeper-code.txt"}`)})
	w.say("dev", "ann", "open the door")
	answered++
	w.answered("dev", answered)
	r.settled()
	r.stop()
	hints := w.events(r.id, mind.Hint)
	if len(hints) != 1 || hints[0].Get("why") != "failed" || w.hintsAt(r.id, "7431") != 1 {
		t.Errorf("hints: %v", hints)
	}
}

// The identity can search by itself.
func TestRecallTool(t *testing.T) {
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

// The index is a cache: whatever happens to it, turns go on.
func TestIndexIsACache(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	ask := func(what string) {
		t.Helper()
		w.say("dev", "ann", what)
		answered++
		w.answered("dev", answered)
		r.settled()
	}
	must(t, os.RemoveAll(r.id.RecallPath())) // while it is open
	ask("hello there")
	r.stop()
	for _, damage := range [][]byte{nil, []byte("not a database at all, however long it is: " + strings.Repeat("x", 8192))} {
		must(t, os.RemoveAll(r.id.RecallPath()))
		must(t, os.RemoveAll(r.id.RecallPath()+"-wal"))
		if damage != nil {
			must(t, os.WriteFile(r.id.RecallPath(), damage, 0o600))
		}
		r = w.run(r.id)
		r.indexed()
		ask("hello again")
		r.stop()
	}
	must(t, os.RemoveAll(r.id.RecallPath()))
	must(t, os.Mkdir(r.id.RecallPath(), 0o500)) // it cannot be made at all
	r = w.run(r.id)
	ask("still there?")
	s, err := status.Read(r.id.Dir)
	must(t, err)
	equal(t, "error", s.Error, "")
	r.stop()
	must(t, os.Remove(r.id.RecallPath()))
	r = w.run(r.id)
	r.indexed()
	ask("what was the code of the lighthouse keeper?")
	r.stop()
	equal(t, "hints", w.hintsAt(r.id, "7431"), 1)
}

// What users send through a bridge is a blob of nobody's life. Naming it in a
// line lets the identity open it, and nothing else.
func TestReceivedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(gist, body string) string {
		h, err := w.store.Put(blobs.Meta{Gist: gist}, []byte(body))
		must(t, err)
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
