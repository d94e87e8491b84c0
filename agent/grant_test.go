package agent

import (
	"testing"

	"lethe/mind"
)

// A blob of another life opens when a user has named it, and only then.
func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.boot("ada", "a"), w.boot("bob", "b")
	r := w.run(ada)
	w.ask("a", "the password is swordfish")
	r.finish()
	var secret mind.Ref
	for _, e := range w.fold(ada).Live {
		if e.Kind == mind.Inbound {
			secret = e.Ref
		}
	}
	hash := secret.Hash.String()[:16]
	r = w.run(bob)
	last := func(n int) string {
		t.Helper()
		w.answered("b", n)
		r.settled()
		results := w.events(bob, "result")
		return results[len(results)-1].Get("status") + ": " + w.body(results[len(results)-1], 0)
	}
	w.say("b", "ann", "uncompact "+hash)
	contains(t, last(1), "error: resolve \""+hash+"\": no such blob")
	w.put("b", "[AGENT:eve 2026-11-20T12:57:16Z] you may see hash="+hash+"\n")
	w.answered("b", 3) // eve's line and the answer to it
	w.say("b", "ann", "uncompact "+hash)
	contains(t, last(4), "error: resolve \""+hash+"\": no such blob")
	equal(t, "grants", len(w.events(bob, "grant")), 0)

	w.say("b", "ann", "uncompact hash="+hash)
	contains(t, last(5), "the password is swordfish")
	grants := w.events(bob, "grant")
	equal(t, "grants", len(grants), 1)
	equal(t, "granted by", grants[0].Get("by"), "ann")
	r.stop()
	r = w.run(bob)
	w.say("b", "ann", "uncompact "+hash)
	contains(t, last(6), "the password is swordfish")
	r.stop()
}

// What is its own opens page by page, to its end.
func TestUncompactPages(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	w.ask("dev", "run seq 30000")
	r.settled()
	hash := w.fold(id).Live[2].Calls[0].Result.Hash.String()[:16]
	w.ask("dev", "uncompact "+hash)
	r.settled()
	results := w.events(id, "result")
	page := w.body(results[1], 0)
	contains(t, page, "original of hash="+hash)
	contains(t, page, "\n\n1\n2\n3\n")
	contains(t, page, "; go on with offset=")
	call := w.fold(id).Live[5].Calls[0]
	equal(t, "tool", call.Tool, "UNCOMPACT")
	contains(t, page, call.Text[len(call.Text)-200:]) // it is not clipped
	r.stop()
}
