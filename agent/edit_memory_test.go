package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
	"lethe/llm/rehearsal"
	"lethe/recall"
)

// finds reports whether the index over a life that is not lived finds a text.
func (w *world) finds(id Identity, text string) bool {
	w.Helper()
	index := recall.Open(id.RecallPath(), id.Self, discard())
	defer index.Close()
	_, err := index.Sync(context.Background(), w.store, id.LIFE())
	lethetest.Must(w, err)
	hits, err := index.Search(context.Background(), w.store, recall.Query{Text: text, Limit: 5})
	lethetest.Must(w, err)
	for _, h := range hits {
		if b, err := w.store.Get(h.Hash); err == nil && strings.Contains(string(b.Body), text) {
			return true
		}
	}
	return false
}

// An edit of context.md that shows an older MEMORY overwrites nothing that came
// into MEMORY.md meanwhile, and what edits take away is found again.
func TestMemoryIsMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("the crane is painted ochre")})
	id := w.boot("ada", "dev")
	memory, view := w.own(id, "MEMORY.md"), w.own(id, contextFile)
	r := w.run(id)
	w.ask("dev", "which colour?")
	r.settled()
	lethetest.Must(t, os.WriteFile(memory, []byte("Ann likes teal.\n"), 0o600))
	w.rewrite(view, replace("(empty)", "Bob likes crimson."))
	r.edited(1)
	equal(t, "MEMORY.md", w.read(memory), "Bob likes crimson.\nAnn likes teal.\n")

	shows := func(s string) {
		w.eventually("context.md shows "+s, func() bool { return strings.Contains(w.read(view), s) })
		r.settled()
	}
	shows("Ann likes teal.")
	lethetest.Must(t, os.WriteFile(memory, []byte("Bob likes crimson.\nAnn likes indigo.\n"), 0o600))
	w.rewrite(view, replace("Ann likes teal.", "Ann likes olive."))
	r.edited(2)
	equal(t, "MEMORY.md", w.read(memory), "Bob likes crimson.\nAnn likes indigo.\n")
	shows("stayed as they were: the lines of memory that were changed in MEMORY.md meanwhile.")
	kept, err := filepath.Glob(view + ".kept-*")
	lethetest.Must(t, err)
	if len(kept) != 1 || !strings.Contains(w.read(kept[0]), "olive") {
		t.Errorf("the edit is not kept: %q", kept)
	}

	w.rewrite(view, func(s string) string {
		return replace("Bob likes crimson.\n", "")(replace("painted ochre", "not painted")(s))
	})
	r.edited(3)
	equal(t, "MEMORY.md", w.read(memory), "Ann likes indigo.\n")
	shows("RECALL still finds what was taken away.")
	r.stop()
	for _, text := range []string{"Bob likes crimson", "the crane is painted ochre"} {
		if !w.finds(id, text) {
			t.Errorf("%q was taken away, and is not found", text)
		}
	}
	if w.finds(id, "Ann likes indigo") {
		t.Error("what stands in MEMORY.md is taken for what was taken away")
	}
	w.run(id).stop()
}

// A change of MEMORY.md at the moment in which an edit is written to it is merged,
// too.
func TestMemoryIsSavedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	memory := w.own(id, "MEMORY.md")
	w.run(id).stop()
	saved := false
	lethetest.Break(w, w.home.Dir, func(_ durable.Stage, op, path string) error {
		if path == memory && !saved {
			saved = true
			return os.WriteFile(memory, []byte("Ann likes teal.\n"), 0o600)
		}
		return nil
	})
	w.rewrite(w.own(id, contextFile), replace("(empty)", "Bob likes crimson."))
	r := w.run(id)
	r.edited(1)
	r.finish()
	equal(t, "MEMORY.md", w.read(memory), "Bob likes crimson.\nAnn likes teal.\n")
}
