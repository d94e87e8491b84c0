package agent

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/llm/rehearsal"
)

// closeRoom puts a directory in the place of a room.
func (w *world) closeRoom(room string) (reopen func()) {
	w.Helper()
	path := w.path(room)
	lethetest.Must(w, errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700)))
	return func() { lethetest.Must(w, errors.Join(os.Remove(path), os.Rename(path+".away", path))) }
}

// A room that cannot be written keeps what is to be said there waiting, and
// nothing else: other rooms, commands and turns go on, a /stop takes nothing back,
// and when the room can be written again, after restarts as well, each line is there once.
func TestClosedRoom(t *testing.T) {
	t.Parallel()
	say := `{"room":"ops","message":"again"}`
	w := newWorld(t,
		rehearsal.Step{Contains: "report", Answer: calls("SAY", say, "SAY", say)},
		rehearsal.Step{Contains: "wait", Fault: rehearsal.Stall, Answer: text("never said")},
		rehearsal.Step{Times: -1, Answer: text("done")})
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	r.settled()
	reopen := w.closeRoom("ops")

	equal(t, "the answer", w.ask("dev", "report"), "done")
	r.waits("ops")
	for _, e := range w.events(id, "result") {
		equal(t, "status of a SAY", e.Get("status"), "ok")
		contains(t, w.body(e, 0), "room ops cannot be written now")
		contains(t, w.body(e, 0), "recorded and will be said")
	}
	contains(t, w.ask("dev", "/status"), "; room ops cannot be written, lines that wait: 2: ")
	w.say("dev", "ann", "wait")
	r.waitFor(status.Thinking, "")
	equal(t, "the answer to /stop", w.ask("dev", "/stop"), "Stopped.")
	r.stop()
	r = w.run(id)
	r.waits("ops")
	equal(t, "the answer", w.ask("dev", "and now?"), "done")

	reopen()
	w.eventually("both lines are said", func() bool { return len(w.said("ops")) == 2 })
	r.settled()
	s := w.status(id)
	equalSlices(t, "trouble", s.Trouble, nil)
	equal(t, "the answer in a room that could not be written", w.ask("ops", "hello, ops"), "done")
	r.finish()
	w.run(id).stop()
	equalSlices(t, "ops", w.said("ops"), []string{"again", "again", "done"})
	equalSlices(t, "heard in ops", w.heard(id, "ops"), []string{"hello, ops"})
}

// An attempt at a post that is reported as failed and is in the room, in whole or
// in part, is not heard as somebody's message.
func TestFailedPostIsNotHeard(t *testing.T) {
	t.Parallel()
	for _, half := range []bool{false, true} {
		w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("the answer")})
		id := w.boot("ada", "dev", "ops")
		w.say("dev", "ann", "a question")
		w.run(id, dieAt("reply", 1)).killed()
		line := w.fold(id).Outbox[0].Line
		if half {
			line = line[:len(line)-5] + "\n"
		}
		w.put("dev", line)
		a, err := Open(id, w.conf)
		lethetest.Must(t, err)
		a.io("dev").retryAt = time.Now().Add(time.Hour)
		_, err = a.readRooms()
		lethetest.Must(t, err)
		lethetest.Must(t, a.Close())
		equalSlices(t, "heard", w.heard(id, "dev"), []string{"a question"})
		r := w.run(id)
		r.finish()
		n := len(slices.DeleteFunc(w.lines("dev"), func(l chat.Line) bool { return !strings.HasSuffix(l.Text, "the answer") }))
		equal(t, "whole lines", n, 1)
		equalSlices(t, "heard", w.heard(id, "dev"), []string{"a question"})
	}
}

// What waits for a room is said when its time comes, while the model thinks as well.
func TestClosedRoomInMidCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		rehearsal.Step{Contains: "report", Answer: calls("SAY", `{"room":"ops","message":"again"}`)},
		rehearsal.Step{Times: -1, Fault: rehearsal.Stall, Answer: text("never said")})
	w.conf.quiet = time.Hour // or the model's silence would wake the identity
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	r.settled()
	reopen := w.closeRoom("ops")
	w.say("dev", "ann", "report")
	r.waits("ops")
	r.waitFor(status.Thinking, "")
	w.eventually("the second call", func() bool { return len(w.asked()) == 2 })
	reopen()
	w.eventually("it is said", func() bool { return len(w.said("ops")) == 1 })
	equal(t, "replies", len(w.events(id, "reply")), 1)
	r.stop()
}
