package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// An edit of MEMORY in context.md overwrites nothing in MEMORY.md: it is refused with a
// word and kept. What other edits take away is found again.
func TestMemoryIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("the crane is painted ochre")})
	id := w.boot("ada", "dev")
	memory, view := w.own(id, "MEMORY.md"), w.own(id, contextFile)
	r := w.run(id)
	w.ask("dev", "which colour?")
	r.settled()
	lethetest.Must(t, os.WriteFile(memory, []byte("Ann likes teal.\n"), 0o600))
	w.rewrite(view, func(s string) string {
		return replace("(empty)", "Bob likes crimson.")(replace("painted ochre", "not painted")(s))
	})
	r.edited(1)
	equal(t, "MEMORY.md", w.read(memory), "Ann likes teal.\n")
	w.eventually("context.md says what was not done", func() bool {
		s := w.read(view)
		return strings.Contains(s, "stayed as they were: memory, which is changed in self/MEMORY.md.") && strings.Contains(s, "RECALL still finds what was taken away.")
	})
	kept, err := filepath.Glob(view + ".kept-*")
	lethetest.Must(t, err)
	if len(kept) != 1 || !strings.Contains(w.read(kept[0]), "crimson") {
		t.Errorf("the edit is not kept: %q", kept)
	}
	r.stop()
	if !w.finds(id, "the crane is painted ochre") {
		t.Error("what was taken away is not found")
	}
	w.run(id).stop()
}
