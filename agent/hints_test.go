package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/lethetest"
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
		lethetest.Must(t, err)
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
		added, err := r.agent.indexer.index.Sync(r.w.Context(), r.w.store, r.id.LIFE())
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
			lethetest.Must(w, err)
			body, err := w.bodyOf(h)
			lethetest.Must(w, err)
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
	lethetest.Must(t, err)
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
	lethetest.Must(t, err)
	return b.Gist
}

// Nothing is said where nothing fits, nor when hints are off.
func TestNoHint(t *testing.T) {
	lethetest.Unraced(t)
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
