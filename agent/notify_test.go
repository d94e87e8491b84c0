package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
)

// What needs a person is said where it happens and in the rooms for notices, once each, and
// no model is asked for these. Nobody pays where there are none.
func TestNotices(t *testing.T) {
	t.Parallel()
	for _, notify := range [][]string{nil, {"notify-ada", "notify-bob"}} {
		w := newWorld(t, rehearsal.Step{Times: 1, Status: 401}, always("well again"))
		w.conf.Notify = notify
		_, r := w.ada()
		say := r.ask("hello")
		contains(t, say, "The model refuses")
		r.waitFor(status.Paused, "")
		r = r.again()
		equal(t, "the answer", w.answered("dev", 2), "well again")
		r.finish()
		for _, room := range []string{"notify-ada", "notify-bob"} {
			said := w.said(room)
			if notify == nil {
				if _, err := os.Stat(chat.Path(w.home.Dir, room)); err == nil {
					t.Errorf("nobody is notified, and there is a room %s", room)
				}
				continue
			}
			equalSlices(t, "notices in "+room, said, []string{"(dev) " + say})
		}
	}
}

// An alert is for the rooms for notices alone, and does not pass for an outage that the
// rooms know of.
func TestAlert(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: 1, Status: 503}, always("well again"))
	w.conf.Notify = []string{"notify-ada"}
	a, err := Open(w.boot("ada", "dev"), w.conf)
	if err == nil {
		err = a.view.Happen(event.Error{What: "trigger", Text: "it failed", Notice: a.view.Notice("(dev) job 3 failed", a.view.Notified()...)})
	}
	if err != nil {
		t.Fatal(err)
	}
	r := w.live(a)
	contains(t, w.ask("dev", "hello"), "I cannot reach the model")
	equal(t, "the answer", w.answered("dev", 2), "well again")
	r.finish()
	equalSlices(t, "notices", w.said("notify-ada"), []string{" (dev) job 3 failed"})
	if strings.Contains(w.read(w.path("dev")), "job 3") {
		t.Error("an alert is in a room")
	}
}

// /status says what the identity waits for by itself.
func TestStatusOfTriggers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Zone = time.UTC
	id := w.boot("ada", "dev")
	w.trigger(id, "tick.toml", "cron = \"0 9 1 1 *\"\nsay = \"tick\"\n")
	r := w.run(id)
	w.shows(id, "the trigger", func(s status.Status) bool { return len(s.Triggers) == 1 && !s.Triggers[0].Next.IsZero() })
	contains(t, w.ask("dev", "/status"), "; next tick ")
	r.finish()
}
