package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/compactor/recall"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// viewed waits until context.md shows all that has happened, and returns it.
func (w *world) viewed(id home.Identity) (view string) {
	w.Helper()
	w.eventually("context.md is up to date", func() bool {
		want, _, _ := strings.Cut(string(w.fold(id).View()), "\n")
		data, _ := os.ReadFile(w.own(id, home.ContextFile))
		view = string(data)
		return strings.HasPrefix(view, want+"\n")
	})
	return view
}

// rewrite changes a file as an editor does.
func (w *world) rewrite(path string, change func(string) string) {
	w.Helper()
	w.write(path+"~", change(w.read(path)))
	lethetest.Must(w, os.Rename(path+"~", path))
}

func replace(old, new string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, new) }
}

// edited waits until n edits were obeyed.
func (r *running) edited(n int) {
	r.w.Helper()
	r.w.eventually("the edit is obeyed", func() bool { return len(r.w.having(r.id, "epoch", "why", "edit")) == n })
}

// reads waits until a file holds a text.
func (w *world) reads(path, text string) {
	w.Helper()
	w.eventually(path+" holds "+text, func() bool { s, _ := os.ReadFile(path); return strings.Contains(string(s), text) })
}

// kept is what was set aside of context.md.
func (w *world) kept(id home.Identity) (texts []string) {
	w.Helper()
	paths, err := filepath.Glob(w.own(id, home.ContextFile) + ".kept-*")
	lethetest.Must(w, err)
	for _, path := range paths {
		texts = append(texts, w.read(path))
	}
	return texts
}

func TestContextIsEdited(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, on("slowly", calls("BASH", `{"command":"while [ ! -e go ]; do sleep 0.02; done; echo fine"}`)))
	file := w.own(id, home.ContextFile)
	r.ask("my cat is called Tom")
	w.viewed(id)
	w.rewrite(file, replace("called Tom", "called Kim")) // idle
	r.edited(1)
	r.ask("hello")
	contains(t, w.prompt(), "called Kim")
	contains(t, w.prompt(), "A person edited your context. Changed: e2")
	w.reads(file, "called Kim")

	r.stop() // stopped
	w.rewrite(file, replace("called Kim", "called Zoe"))
	r = w.run(id)
	r.edited(2)
	r.ask("hello again")
	contains(t, w.prompt(), "called Zoe")

	w.say("dev", "ann", "go slowly") // in a turn: what came after the edit stays
	r.waitFor("acting", "BASH")
	w.rewrite(file, replace("called Zoe", "called Ben"))
	w.write(w.own(id, "workspace/go"), "")
	w.answered("dev", 4)
	r.settled()
	r.edited(3)
	for _, part := range []string{"called Ben", "go slowly", "fine"} {
		contains(t, w.prompt(), part)
	}
	r.again().stop()
	w.has(id, 3, "note")
}

func TestContextIsCut(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, always("yes"))
	r.ask("a secret: xyzzy")
	w.viewed(id)
	// The secret and the reply to it are cut out, and something is written.
	w.rewrite(w.own(id, home.ContextFile), func(s string) string {
		return s[:strings.Index(s, "◆ e2 ")] + "◆ from me\nforget that\n" + s[strings.Index(s, "◆ end"):]
	})
	r.edited(1)
	r.ask("hello")
	r.stop()
	s := w.fold(id)
	for _, e := range s.Live {
		if strings.Contains(e.Text, "xyzzy") {
			t.Errorf("what was cut out is live:\n%s", e.Text)
		}
	}
	equal(t, "faded ranges", len(s.Faded), 1)
	contains(t, w.original(s.Faded[0].Original.Short), "xyzzy")
	contains(t, w.prompt(), "Removed, and still reachable by ref in the past: e2, e3")
	contains(t, w.prompt(), "forget that")
}

func TestContextIsLost(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	file := w.own(id, home.ContextFile)
	r.ask("remember this")
	_, want, _ := strings.Cut(w.viewed(id), "\n")
	rebuilt := func() {
		t.Helper()
		w.reads(file, want)
		r.settled()
	}
	lethetest.Must(t, os.Remove(file)) // while it runs
	rebuilt()
	lethetest.Must(t, os.Truncate(file, 0))
	rebuilt()
	r.stop()
	lethetest.Must(t, os.Remove(file)) // while it is stopped
	r = w.run(id)
	rebuilt()
	r.stop()
	w.write(file, "my shopping list\n")
	r = w.run(id)
	rebuilt()
	r.stop()
	equalSlices(t, "set aside", w.kept(id), []string{"my shopping list\n"})
	w.has(id, 0, "note")
}

// A view of an epoch that is over is replaced at once, however slowly views follow.
func TestContextOfANewEpochIsShownAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	r := w.run(id, func(c *Config) { c.viewEvery = time.Hour })
	r.ask("hello")
	before, _, _ := strings.Cut(w.read(w.own(id, home.ContextFile)), "\n")
	for n, command := range []string{"/model rehearsal-two", "/model rehearsal"} {
		r.ask(command, "hello")
		if now, _, _ := strings.Cut(w.viewed(id), "\n"); now == before {
			t.Errorf("context.md is still that of the epoch before the %d. command:\n%s", n+1, now)
		}
	}
	r.finish()
}

// An editor that saves in place empties the file first: what is half written is
// not taken for an edit, and not written over.
func TestContextIsSavedSlowly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("yes"))
	id := w.boot("ada", "dev")
	r := w.run(id, func(c *Config) { c.halfWritten = time.Minute }) // as a busy machine needs it
	file := w.own(id, home.ContextFile)
	r.ask("my cat is called Tom", "my dog is called Rex")
	text := replace("Tom", "Kim")(w.viewed(id))
	lethetest.Must(t, os.Truncate(file, 0))
	half := strings.Index(text, "my dog")
	for i, part := range []string{text[:40], text[40:half], text[half:]} {
		w.say("dev", "ann", "/status") // it looks around after each part
		w.until(id, i+1, "command")
		w.appendTo(file, part)
	}
	r.edited(1)
	w.reads(file, "Changed: e2.")
	r.finish()
	contains(t, w.read(file), "called Kim")
	w.has(id, 1, "note")
	equalSlices(t, "set aside", w.kept(id), nil)
}

// What a power loss leaves of a context.md that was not synced is nobody's edit, and nothing of a person's that it has cut
// is obeyed; what somebody may miss is kept.
func TestContextIsTorn(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, always("yes"))
	file := w.own(id, home.ContextFile)
	r.ask("my cat is called Tom")
	view := w.viewed(id)
	r.stop()
	zeros, edited := strings.Repeat("\x00", len(view)), replace("Tom", "Kim")(view)
	end := strings.Index(view, "◆ end")
	kept := []string{view[:512] + zeros[:512] + view[1024:], edited[:512] + zeros[:512] + edited[1024:], edited[:end]}
	for _, torn := range append([]string{"", zeros, "\n" + zeros, view[:end], view[:end/2], view[:end/2] + zeros[end/2:],
		view[:len(view)-1]}, kept...) {
		w.write(file, torn)
		before := time.Now().Add(-time.Hour)
		lethetest.Must(t, os.Chtimes(file, before, before))
		r := w.run(id)
		r.settled()
		r.stop()
		equal(t, "context.md", w.read(file), view)
	}
	w.has(id, 0, "note")
	equalSlices(t, "set aside", w.kept(id), kept)
}

func TestOwnFilesAreEdited(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, on("note it", calls("WRITE_FILE", `{"path":"self/MEMORY.md","content":"my own words\n"}`)))
	r.settled()
	w.rewrite(w.own(id, "MEMORY.md"), func(string) string { return "Ann likes teal.\n" })
	w.until(id, 1, "note")
	r.ask("hello")
	contains(t, w.prompt(), "Somebody changed self/MEMORY.md. It reads now:\\n    Ann likes teal.")
	r.ask("note it")
	r.stop()
	equal(t, "notes after its own change", len(w.events(id, "note")), 1)
	w.rewrite(w.own(id, "SEGMENT.md"), func(string) string { return "Cut by the hour.\n" })
	w.run(id).finish()
	equal(t, "notes after a change while it was stopped", len(w.events(id, "note")), 2)
	w.stable(w.requests())
}

// finds reports whether the index over a life that is not lived finds a text.
func (w *world) finds(id home.Identity, text string) bool {
	w.Helper()
	index := recall.Open(id.RecallPath(), (&mind.State{Self: id.Self}).Owns, discard())
	_, err := index.Sync(context.Background(), w.store, id.LIFE())
	lethetest.Must(w, err)
	found, err := index.Search(context.Background(), w.store, recall.Query{Text: text, Limit: 5, Now: time.Now()})
	lethetest.Must(w, err)
	for _, h := range found.Hits {
		if body, err := w.bodyOf(h.Hash); err == nil && strings.Contains(string(body), text) {
			return true
		}
	}
	return false
}

// An edit of MEMORY in context.md is carried out; where somebody has changed MEMORY.md
// meanwhile, that stays, and the edit is kept. What edits take away is found again.
func TestMemoryIsEdited(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, always("the crane is painted ochre"))
	memory, view := w.own(id, "MEMORY.md"), w.own(id, home.ContextFile)
	r.ask("which colour?")
	w.viewed(id)
	w.rewrite(view, replace("(empty)", "Bob likes crimson."))
	r.edited(1)
	equal(t, "MEMORY.md", w.read(memory), "Bob likes crimson.\n")
	w.reads(view, "MEMORY was changed.")
	r.stop() // while it runs, context.md would follow MEMORY.md at once
	w.write(memory, "Ann likes teal.\n")
	w.rewrite(view, func(s string) string {
		return replace("Bob likes crimson.", "Bob likes olive.")(replace("painted ochre", "not painted")(s))
	})
	r = w.run(id)
	r.edited(2)
	equal(t, "MEMORY.md", w.read(memory), "Ann likes teal.\n")
	w.reads(view, "memory, of which the file did not show")
	w.reads(view, "RECALL still finds what was taken away.")
	if kept := w.kept(id); len(kept) != 1 || !strings.Contains(kept[0], "olive") {
		t.Errorf("the edit is not kept: %q", kept)
	}
	r.stop()
	equal(t, "what was taken away is found", w.finds(id, "the crane is painted ochre"), true)
	w.run(id).stop()
}
