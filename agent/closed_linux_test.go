package agent

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lethe/agent/status"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// A room that cannot be written keeps what is to be said there waiting, and
// nothing else: other rooms, commands and turns go on, a /stop takes nothing back, and when
// the room can be written again, after a restart and while the model thinks, each line is there once.
func TestClosedRoom(t *testing.T) {
	t.Parallel()
	say := `{"room":"ops","message":"again"}`
	w := newWorld(t,
		on("report", calls("SAY", say, "SAY", say)),
		rehearsal.Step{Contains: "wait", Times: 2, Fault: rehearsal.Hang},
		always("done"))
	w.conf.quiet = time.Hour // or the model's silence would wake the identity
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	r.settled()
	path := w.path("ops") // in whose place is a directory
	lethetest.Must(t, errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700)))

	equal(t, "the answer", w.ask("dev", "report"), "done")
	r.waits("ops")
	for _, res := range w.results(id) {
		equal(t, "status of a SAY", res.status, "ok")
		contains(t, res.text, "room ops cannot be written now")
		contains(t, res.text, "recorded and will be said")
	}
	contains(t, w.ask("dev", "/status"), "; room ops cannot be written, and lines wait: ")
	w.say("dev", "ann", "wait")
	r.waitFor(status.Thinking, "")
	equal(t, "the answer to /stop", w.ask("dev", "/stop"), "Stopped.")
	r = r.again()
	r.waits("ops")
	equal(t, "the answer", w.ask("dev", "and now?"), "done")
	asked := len(w.asked())
	w.say("dev", "ann", "wait")
	w.eventually("the call", func() bool { return len(w.asked()) == asked+1 })

	lethetest.Must(t, unix.Renameat2(unix.AT_FDCWD, path+".away", unix.AT_FDCWD, path, unix.RENAME_EXCHANGE))
	w.eventually("both lines are said", func() bool { return len(w.said("ops")) == 2 })
	r.waitFor(status.Thinking, "")
	equal(t, "the answer to /stop", w.ask("dev", "/stop"), "Stopped.")
	r.settled()
	equalSlices(t, "trouble", w.status(id).Trouble, nil)
	equal(t, "the answer in a room that could not be written", w.ask("ops", "hello, ops"), "done")
	r.finish()
	w.run(id).stop()
	equalSlices(t, "ops", w.said("ops"), []string{"again", "again", "done"})
	equalSlices(t, "heard in ops", w.heard(id, "ops"), []string{"hello, ops"})
}
