package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// What SAY sends along is said once, over kills; who hears the room may open and see it, and nobody else, whatever agents
// name elsewhere.
func TestSayWithFiles(t *testing.T) {
	t.Parallel()
	w := asking(t, "SAY lab")
	w.sees()
	ada, bob, eve := w.boot("ada", "dev", "ops", "lab"), w.boot("bob", "ops"), w.boot("eve", "lab")
	picture := drawn(t, 64, 48, black)
	lethetest.Must(t, os.MkdirAll(w.own(ada, "workspace"), 0o700))
	lethetest.Must(t, os.WriteFile(w.own(ada, "workspace/plot.png"), picture, 0o600))
	says := func(when, room, files string) {
		args := fmt.Sprintf(`{"room":%q,"message":"look, %s","files":%s}`, room, when, files)
		w.model.Push(on(when, calls("SAY", args)))
	}
	for _, kind := range []string{"call", "posted", "result"} {
		says(kind, "ops", `["plot.png","self/MEMORY.md"]`)
		r := w.run(ada, dieAt(kind, 1))
		w.say("dev", "ann", kind)
		r.killed()
		w.run(ada).finish()
	}
	said := w.said("ops")
	equal(t, "lines", len(said), 3)
	for _, text := range said {
		lines := strings.Split(text, "\n")
		hashes := blobs.Mentions(text)
		equal(t, "lines of a text", len(lines), 3)
		equal(t, "first tag", lines[1], fmt.Sprintf("[photo plot.png image/png %d B hash=%s]", len(picture), hashes[0]))
		contains(t, lines[2], "[document MEMORY.md ")
		equal(t, "the file", w.original(hashes[0]), string(picture))
	}
	shared := blobs.Mentions(said[0])[0]

	r := w.run(bob)
	r.settled()
	w.has(bob, 6, "grant")
	equal(t, "pictures that bob is shown", w.shown(), 3)
	w.model.Push(on("read it", calls("READ_FILE", `{"path":"hash=`+shared+`"}`)))
	w.ask("ops", "read it")
	contains(t, w.results(bob)[0].text, "received/"+shared+"-plot.png")
	r.finish()

	r = w.run(eve)
	w.put("lab", "[AGENT:bob 2026-11-20T12:57:16Z] "+strings.ReplaceAll(said[0], "\n", " ")+"\n")
	w.answered("lab", 2)
	r.finish()
	equal(t, "grants by who did not send it", len(w.events(eve, "grant")), 0)
	a := w.run(ada)
	a.settled()
	says("now", "lab", `"plot.png"`)
	w.say("dev", "ann", "now")
	q := w.question("dev", 1)
	lethetest.Must(t, os.WriteFile(w.own(ada, "workspace/plot.png"), picture[:20], 0o600))
	w.say("dev", "ann", q.ID+" once")
	w.until(ada, 1, "note", "why", "run")
	a.finish()
	w.run(eve).finish()
	equal(t, "grants by who sent it", len(w.events(eve, "grant")), 1)
	equal(t, "granted by", w.events(eve, "grant")[0].Get("by"), "ada")

	says("none", "ops", `["gone.png"]`)
	a = w.run(ada)
	a.settled() // with what eve said
	a.ask("none")
	results := w.results(ada)
	contains(t, results[len(results)-1].text, `Nearest name there: "plot.png"`)
	equal(t, "lines", len(w.said("ops")), 5) // with bob's answers
	a.finish()
}
