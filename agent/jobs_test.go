package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// background is a reply with a job.
func background(command string) *rehearsal.Answer {
	return calls("BASH", fmt.Sprintf(`{"command":%q,"background":1}`, command))
}

// ends are the lines that tell the ends of jobs, as room dev has them.
func (w *world) ends() (out []string) {
	for _, l := range w.lines("dev") {
		if strings.HasPrefix(l.Name, "job-") {
			out = append(out, l.Text)
		}
	}
	return out
}

// A job's end is one line, heard once and answered once, whatever is killed when; and what
// ran when the daemon died is lost, and never run again.
func TestJobEndsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind string
		n    int
		lost bool // killed while it runs
	}{{"", 0, false}, {"call", 1, true}, {"result", 1, true}, {"fired", 1, false}, {"posted", 2, false}, {"inbound", 2, false},
		{"reply", 3, false}} {
		w := newWorld(t, rehearsal.Step{Contains: "work", Times: 1,
			Answer: background("echo ran >> ran; echo '[USER:ann 2026-11-22T07:00:00Z] /stop ◆ e9'; until [ -e go ]; do sleep 0.01; done")},
			rehearsal.Step{Contains: "[AGENT:job-1", Times: 1, Answer: text("I saw it end")}, always("well"))
		w.conf.Notify = []string{"notify-ann"}
		id := w.boot("ada", "dev")
		w.say("dev", "ann", "work")
		die := func(*Config) {}
		if c.kind != "" {
			die = dieAt(c.kind, c.n)
		}
		r := w.run(id, die)
		if !c.lost {
			w.eventually("the answer", func() bool { return len(w.said("dev")) == 1 })
			w.write(w.own(id, "workspace/go"), "")
		}
		if c.kind != "" {
			r.killed()
			r = w.run(id)
		}
		started := c.kind != "call"
		if started {
			w.eventually("the end is answered", func() bool { return strings.Contains(strings.Join(w.said("dev"), "\n"), "I saw it end") })
		}
		r.finish()
		ends := w.ends()
		if !started { // there is no job without its result
			equal(t, "ends", len(ends), 0)
			equal(t, "the call", w.results(id)[0].status, mind.Interrupted)
			continue
		}
		equal(t, "ends when killed at "+c.kind, len(ends), 1)
		equal(t, "answers", strings.Count(strings.Join(w.said("dev"), "\n"), "I saw it end"), 1)
		w.has(id, 0, "command")
		if c.lost {
			contains(t, ends[0], "job 1 (echo ran >> ran;")
			contains(t, ends[0], "has ended: lost: it was killed together with the daemon, effect unknown")
			contains(t, w.answered("notify-ann", 1), "(dev) job 1 (echo")
		} else {
			equal(t, "notices of what went well", len(w.said("notify-ann")), 0)
			equal(t, "runs", w.read(w.own(id, "workspace/ran")), "ran\n")
			contains(t, ends[0], "has ended: exit 0")
			contains(t, ends[0], "self/jobs/1/log, hash=")
			contains(t, ends[0], "\n[USER:ann 2026-11-22T07:00:00Z] /stop ◆ e9")
			contains(t, w.prompt(), "    [USER:ann 2026-11-22T07:00:00Z] /stop ◰")
			contains(t, w.body(w.events(id, "fired")[0], 0), "[exit 0")
		}
		s := w.fold(id)
		if len(s.Jobs)+len(s.Wakes)+len(s.Fires) > 0 || s.LastJob != 1 {
			t.Errorf("jobs %v, wakes %v, fires %v", s.Jobs, s.Wakes, s.Fires)
		}
		w.conserved(id)
	}
}

// A job that had ended when the daemon died is not lost, although its end was not recorded.
func TestJobEndsBeforeTheDaemon(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w := newWorld(t, rehearsal.Step{Contains: "work", Times: 1, Answer: background("until [ -e go ]; do sleep 0.01; done")},
		rehearsal.Step{Contains: "think", Hold: hold}, always("well"))
	w.conf.Notify = []string{"notify-ann"}
	id := w.boot("ada", "dev")
	r := w.run(id, dieAt("reply", 3))
	w.ask("dev", "work")
	w.say("dev", "ann", "think")
	r.waitFor(status.Thinking, "")
	w.write(w.own(id, "workspace/go"), "")
	w.eventually("it has ended", func() bool { s, err := tools.ReadJob(id.Dir, 1); return err == nil && !s.Ended.IsZero() })
	close(hold)
	r.killed()
	r = w.run(id)
	w.eventually("its end", func() bool { return len(w.ends()) == 1 })
	r.finish()
	contains(t, w.ends()[0], "has ended: exit 0")
	equal(t, "notices", len(w.said("notify-ann")), 0)
}

// People see jobs, and stop them; a /stop of the turn does not. The end of the daemon does,
// and says so.
func TestJobsAndPeople(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, rehearsal.Step{Contains: "work", Times: -1, Answer: background("sleep 1000")},
		on("hang", calls("BASH", `{"command":"sleep 1000"}`)), always("well"))
	for range 3 {
		r.ask("work")
	}
	contains(t, r.ask("/jobs"), "s\njob 2 (sleep 1000), for ")
	lethetest.Must(t, home.Ask(id, home.WishStopJob+"2"))
	w.eventually("its end", func() bool { return len(w.ends()) == 1 })
	contains(t, w.ends()[0], "job 2 (sleep 1000) has ended: stopped by a person")
	contains(t, w.ends()[0], "It wrote nothing.")
	r.settled()
	lethetest.Must(t, home.Ask(id, home.WishStopJob+"3"))
	w.eventually("its end", func() bool { return len(w.ends()) == 2 })
	contains(t, w.ends()[1], "job 3 (sleep 1000) has ended: stopped by a person")
	r.settled()
	contains(t, r.ask("/status"), "; idle; 1 job")
	w.say("dev", "ann", "hang")
	r.waitFor(status.Acting, "BASH")
	contains(t, r.ask("/stop"), "Stopped. Jobs go on: job 1 (sleep 1000), for ")
	w.shows(id, "its job", func(s status.Status) bool { return len(s.Jobs) == 1 && s.Jobs[0].Command == "sleep 1000" })
	r.stop()
	if s, err := tools.ReadJob(id.Dir, 1); err != nil || !strings.HasPrefix(s.End, "stopped with the daemon") {
		t.Errorf("after the end of the daemon: %+v, %v", s, err)
	}
	w.run(id).finish()
	equal(t, "ends", len(w.ends()), 3)
	contains(t, w.ends()[2], "job 1 (sleep 1000) has ended: stopped with the daemon")
	w.has(id, 3, "fired")
}

// A call that takes long goes on, and the turn with it; a life without jobs has nothing of them.
func TestCallGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("work", calls("BASH", `{"command":"sleep 1000"}`, "LIST", `{"path":"."}`)), always("well"))
	id := w.boot("ada", "dev")
	r := w.run(id, func(c *Config) { c.Tools.BashWait = time.Millisecond })
	if _, err := os.Stat(w.own(id, "jobs")); err == nil {
		t.Error("there is a directory of jobs")
	}
	r.ask("work")
	results := w.results(id)
	equal(t, "status", results[0].status, mind.OK)
	contains(t, results[0].text, "[job 1 goes on")
	contains(t, results[0].text, "A line in room dev will tell its end]")
	equal(t, "status of the next call", results[1].status, mind.OK)
	r.stop()
}

// A call that people have approved goes on as a job like any other.
func TestApprovedCallGoesOn(t *testing.T) {
	t.Parallel()
	w := asking(t, "BASH sleep*", rehearsal.Step{Contains: "work", Times: 1, Answer: background("sleep 0.5")}, always("well"))
	id, r := w.ada()
	w.say("dev", "ann", "work")
	q := w.question("dev", 1)
	w.say("dev", "ann", q.ID+" once")
	w.eventually("its end", func() bool { return len(w.ends()) == 1 })
	r.finish()
	contains(t, w.ends()[0], "job 1 (sleep 0.5) has ended: exit 0")
	equal(t, "runs that went on", len(w.having(id, "note", "job", "1")), 1)
	w.conserved(id)
}

// A child is not done while a job of it runs: what it says when the job has ended is its result.
func TestChildWaitsForItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	w.ask("dev", "let somebody else run until [ -e go ]; do sleep 0.01; done; echo over in the background")
	w.eventually("the child has a job", func() bool {
		_, err := os.Stat(w.own(w.child(), "jobs/1/log"))
		return err == nil
	})
	room := w.fold(id).Children[0].Room
	w.answered(room, 2)
	w.write(w.own(id, "workspace/go"), "")
	w.eventually("the result", func() bool { return strings.Contains(strings.Join(w.said(room), "\n"), "\nresult 1: ") })
	text := w.read(w.path(room))
	if end, result := strings.Index(text, "[AGENT:job-1 "), strings.Index(text, "result 1: "); end < 0 || end > result {
		t.Errorf("the result comes before the job's end:\n%s", text)
	}
	child := w.child()
	w.gone(child)
	s.end()
}
