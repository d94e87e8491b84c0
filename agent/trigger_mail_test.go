package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/home"
	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life"
)

// told are the firings whose line has a text.
func (w *world) told(id home.Identity, text string) (out []life.Event) {
	w.Helper()
	for _, e := range w.events(id, "fired") {
		if strings.Contains(e.Get("say"), text) {
			out = append(out, e)
		}
	}
	return out
}

// A file that cannot be moved is told once, whatever else comes, from whom, into which drop, and over a restart.
func TestMailThatStays(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	drops := map[string]string{"one": t.TempDir(), "two": t.TempDir()}
	put := func(drop, name string) { w.write(filepath.Join(drops[drop], name), "a letter\n") }
	for name, dir := range drops {
		w.trigger(id, name+".toml", fmt.Sprintf("mail = %q\n", dir))
		put(name, "first-"+name)
	}
	put("one", "processed") // where files would go
	r := w.run(id)
	told := func(names ...string) {
		t.Helper()
		for _, name := range names {
			w.eventually(name+" is told", func() bool { return len(w.told(id, name+",")) > 0 })
		}
	}
	told("first-one", "first-two", "processed")
	put("two", "second-two")
	put("one", "second-one")
	told("second-one", "second-two")
	w.shows(id, "what is wrong", func(s status.Status) bool {
		return len(s.Triggers) == 2 && strings.Contains(s.Triggers[0].Error, "processed")
	})
	r = r.again()
	put("two", "third-two")
	told("third-two")
	r.settled()
	lethetest.Must(t, os.Remove(filepath.Join(drops["one"], "processed")))
	put("two", "fourth-two")
	told("fourth-two")
	w.eventually("they are moved", func() bool {
		moved, _ := filepath.Glob(filepath.Join(drops["one"], "processed", "*-one"))
		return len(moved) == 2
	})
	r.finish()
	equal(t, "firings", len(w.events(id, "fired")), 7)
	equal(t, "turns that a letter opens twice", len(w.told(id, "first-one,"))+len(w.told(id, "second-one,")), 2)
	w.conserved(id)
}

// What an identity's own calls and foreground commands put into its own drop wakes nobody, and is told; what people
// and its jobs put there while its turn goes on is one line, and what follows it comes together a minute later.
func TestOwnMail(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	release := make(chan struct{})
	w, id, r := start(t,
		rehearsal.Step{Contains: "go", Answer: calls(
			"WRITE_FILE", `{"path":"self/triggers/inbox.toml","content":"mail = \"inbox\"\nsay = \"New.\"\n"}`,
			"BASH", `{"command":"mkdir -p inbox; echo by a command > inbox/own-1"}`,
			"WRITE_FILE", `{"path":"inbox/own-2","content":"by a call"}`,
			"BASH", `{"command":"until [ -e now ]; do sleep 0.02; done; echo by a job > inbox/job","background":"1"}`)},
		rehearsal.Step{Hold: release, Answer: text("done")}, always("(nothing)"))
	w.say("dev", "ann", "go")
	in := func(path string) string { return w.own(id, "workspace/"+path) }
	w.eventually("its own is put away", func() bool { return r.agent.there("workspace/inbox/processed/own-2") })
	w.write(in("inbox/letter"), "by a person")
	w.write(in("now"), "")
	w.eventually("the job has put its own there", func() bool { return r.agent.there("workspace/inbox/job") })
	close(release)
	w.eventually("it fires", func() bool { return len(w.told(id, "mail: ")) > 0 })
	r.settled()
	first := w.told(id, "mail: ")[0]
	for _, want := range []string{"New.\nmail: job, 9 bytes", "by a job", "\nmail: letter, 11 bytes", "by a person"} {
		contains(t, first.Get("say"), want)
	}
	w.write(in("inbox/third"), "one more")
	w.write(in("inbox/fourth"), "and another")
	at, err := time.Parse(time.RFC3339, first.Get("ts"))
	lethetest.Must(t, err)
	w.shows(id, "it waits", func(s status.Status) bool {
		return len(s.Triggers) == 1 && s.Triggers[0].Next.Equal(at.Add(time.Minute))
	})
	r.finish()
	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	a.startSources()
	lethetest.Must(t, a.subscriptions())
	view := a.wakeView()
	view.Now = at.Add(time.Minute)
	due, err := a.triggers.Due(view)
	lethetest.Must(t, err)
	lethetest.Must(t, a.fire(due))
	a.stopSources()
	a.Close()
	all := w.told(id, "mail: ")
	equal(t, "lines of mail", len(all), 2)
	for _, want := range []string{"mail: fourth, 11 bytes", "mail: third, 8 bytes"} {
		contains(t, all[1].Get("say"), want)
	}
	equal(t, "lines of its own mail", len(w.told(id, "own-")), 0)
	notes := w.having(id, "note", "why", "mail")
	if len(notes) != 1 {
		t.Fatalf("%d notes\n%s", len(notes), w.dump())
	}
	w.conserved(id)
	contains(t, w.original(notes[0].Refs[0].Hash), "mail: own-1, 13 bytes\nmail: own-2, 9 bytes")
}

// While a letter of its own drop is being written, the others wait for it, and nothing turns in circles meanwhile.
func TestOwnMailWaitsForTheLast(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, id, r := start(t,
		rehearsal.Step{Contains: "go", Answer: calls(
			"WRITE_FILE", `{"path":"self/triggers/inbox.toml","content":"mail = \"inbox\"\n"}`,
			"BASH", `{"command":"mkdir -p inbox"}`)},
		always("(nothing)"))
	w.say("dev", "ann", "go")
	r.settled()
	r.finish()
	changed := func(name string) time.Time {
		path := w.own(id, "workspace/inbox/"+name)
		w.write(path, name)
		fi, err := os.Lstat(path)
		lethetest.Must(t, err)
		return durable.Changed(fi)
	}
	first := changed("first")
	last := changed("last")
	for !last.After(first) { // the clock of the file system is coarse
		last = changed("last")
	}
	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	defer a.Close()
	a.startSources()
	defer a.stopSources()
	lethetest.Must(t, a.subscriptions())
	view := a.wakeView()
	view.Now = first.Add(settleTime)
	due, err := a.triggers.Due(view)
	lethetest.Must(t, err)
	equal(t, "due", len(due), 0)
	equal(t, "lines of mail", len(w.told(id, "mail: ")), 0)
	equal(t, "looked at again", a.triggers.Next(view).Equal(last.Add(settleTime)), true)
}

// What came while a call ran is a letter when the daemon is killed before it is told: it may be a person's.
func TestOwnMailKilled(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w := newWorld(t,
		rehearsal.Step{Contains: "go", Answer: calls(
			"WRITE_FILE", `{"path":"self/triggers/inbox.toml","content":"mail = \"inbox\"\n"}`,
			"BASH", `{"command":"mkdir -p inbox; echo perhaps a person > inbox/letter"}`)},
		always("(nothing)"))
	id := w.boot("ada", "dev")
	w.say("dev", "ann", "go")
	w.run(id, dieAt("result", 2)).killed()
	r := w.run(id)
	w.eventually("it is a letter", func() bool { return len(w.told(id, "mail: letter, 17 bytes")) == 1 })
	r.finish()
	equal(t, "notes of it", len(w.having(id, "note", "why", "mail")), 0)
}

// A file of another user cannot come from a call: it is a letter also while the call runs.
func TestMailOfAnotherUserInACall(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	w, id, r := start(t,
		rehearsal.Step{Contains: "go", Answer: calls(
			"WRITE_FILE", `{"path":"self/triggers/inbox.toml","content":"mail = \"inbox\"\n"}`,
			"BASH", `{"command":"mkdir -p inbox; until [ -e inbox/letter ]; do sleep 0.02; done; echo own > inbox/own"}`)},
		always("(nothing)"))
	w.say("dev", "ann", "go")
	in := func(path string) string { return w.own(id, "workspace/"+path) }
	w.eventually("the call runs", func() bool { return r.agent.there("workspace/inbox") })
	w.write(in("letter"), "by a person")
	lethetest.Must(t, os.Chown(in("letter"), 65534, 65534))
	lethetest.Must(t, os.Rename(in("letter"), in("inbox/letter")))
	w.eventually("it fires", func() bool { return len(w.told(id, "mail: letter, 11 bytes")) == 1 })
	r.finish()
	equal(t, "lines of its own mail", len(w.told(id, "own")), 0)
}
