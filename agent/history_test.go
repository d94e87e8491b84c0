package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// answers appends what another identity says, as if it ran elsewhere.
func (w *world) answers(room, who string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		line, err := chat.Format(true, who, time.Now(), text)
		lethetest.Must(w, err)
		w.put(room, string(line))
	}
}

// commands are the names of those that an identity has obeyed.
func (w *world) commands(id home.Identity) (names []string) {
	w.Helper()
	for _, e := range w.events(id, "command") {
		names = append(names, e.Get("name"))
	}
	return names
}

// What another identity has answered before one begins to hear a room is history to it, and shown as such: no order
// and no command in it is obeyed again, whoever joins, starts late or is killed meanwhile. What was said since is answered.
func TestAnsweredByAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		on("make a file", calls("BASH", `{"command":"date >> `+t.TempDir()+`/made"}`)),
		always("done"))
	ada, eve := w.boot("ada", "dev"), w.boot("eve", "dev")
	r := w.run(ada)
	r.ask("make a file")
	r.ask("/model rehearsal-2")
	r.ask("/status")
	calls := len(w.asked())
	r.stop()

	r = w.run(eve) // for the first time
	r.settled()
	equal(t, "model calls for what ada has answered", len(w.asked()), calls)
	equalSlices(t, "obeyed", w.commands(eve), nil)
	contains(t, w.fold(eve).Live[1].Text, mind.HistoryText)
	equal(t, "answer", r.ask("hello"), "done")
	equal(t, "model calls", len(w.asked()), calls+1)
	contains(t, w.prompt(), mind.HistoryText)
	r.stop()

	r = w.run(ada) // which was off meanwhile
	r.settled()
	equal(t, "model calls for what eve has answered", len(w.asked()), calls+1)
	r.stop()
	w.say("dev", "ann", "/model rehearsal-3", "make a file", "/stop")
	w.answers("dev", "eve", "From the next turn on I use the model rehearsal-3.", "I made it.", "Stopped.")
	w.say("dev", "ann", "are you there?", "/status")
	for _, dies := range []func(*Config){dieAt("resumed", 1), dieAt("note", 1)} {
		w.run(ada, dies).killed()
	}
	n := len(w.said("dev"))
	r = w.run(ada)
	w.answered("dev", n+1)
	r.finish()
	equalSlices(t, "obeyed", w.commands(ada), []string{"/model", "/status", "/status"})
	equal(t, "model calls for what nobody has answered", len(w.asked()), calls+2)
	heard := w.heard(ada, "dev")
	equalSlices(t, "heard last", heard[len(heard)-9:], []string{"hello", "done", "/model rehearsal-3", "make a file", "/stop",
		"From the next turn on I use the model rehearsal-3.", "I made it.", "Stopped.", "are you there?"})
}

// In a room that no identity has heard, all lines get an answer, whatever programs sign there; so does the line with which
// another identity asks this one.
func TestAnsweredByNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("I see."))
	id := w.boot("ada", "dev", "ops")
	w.boot("eve")
	w.say("dev", "ann", "the build, please")
	w.answers("dev", "ci", "the build is red")
	r := w.run(id)
	equal(t, "answer", w.answered("dev", 2), "I see.")
	r.finish()
	w.say("ops", "ann", "is the disk full?")
	w.answers("ops", "eve", "I cannot tell. ada, have a look at the disk")
	r = w.run(id)
	equal(t, "answer", w.answered("ops", 2), "I see.")
	r.finish()
	w.has(id, 1, "note", "why", "history")
}

// What another identity says does not answer what wakes this one alone: the line of its trigger, and the answer to its
// question that names it. An answer without the question's id may have been meant for the other.
func TestAnsweredAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("deploy", calls("WAIT", `{"question":"Deploy?","options":"yes|no"}`)), always("well"))
	w.conf.People = []string{"ann"}
	id := w.boot("ada", "dev")
	w.boot("eve")
	r := w.run(id)
	w.ask("dev", "deploy it")
	w.eventually("it has asked", func() bool { return len(w.fold(id).Questions) == 1 })
	r.finish()
	q := w.fold(id).Questions[0].ID

	w.say("dev", "ann", "yes")
	w.answers("dev", "eve", "I restart it then.")
	r = w.run(id)
	r.finish()
	equal(t, "open questions after a word to eve", len(w.fold(id).Questions), 1)

	w.say("dev", "ann", strings.ToUpper(q)+" no")
	w.answers("dev", "eve", "A pity.")
	n := len(w.said("dev"))
	r = w.run(id)
	w.answered("dev", n+1)
	r.finish()
	equal(t, "open questions after the answer", len(w.fold(id).Questions), 0)

	w.trigger(id, "tea.toml", fmt.Sprintf("at = %q\nsay = \"tea\"\nroom = \"dev\"\n", time.Now().UTC().Format("2006-01-02 15:04")))
	w.dies(id, "posted", 1)
	w.say("dev", "ann", "who makes tea?")
	w.answers("dev", "eve", "I do.")
	lethetest.Must(t, os.Remove(w.own(id, "triggers/tea.toml")))
	n = len(w.said("dev"))
	r = w.run(id)
	equal(t, "answer to the trigger", w.answered("dev", n+1), "well")
	r.finish()
	heard := w.heard(id, "dev")
	equalSlices(t, "heard last", heard[len(heard)-3:], []string{"tea", "who makes tea?", "I do."})
}
