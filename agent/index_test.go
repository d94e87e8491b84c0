package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"lethe/agent/home"
	"lethe/compactor/recall"
	"lethe/internal/test/lethetest"
)

// The index is a cache: whoever holds it up holds up no turn, and whatever happens to it,
// turns go on and it comes back by itself.
func TestIndexIsACache(t *testing.T) {
	slow(t)
	w, r := forgotten(t, "")
	path := r.id.RecallPath()
	lock := flock.New(path + "-lock")
	question := "run echo what was the code of the lighthouse keeper?"
	found := func() error {
		_, err := r.agent.thinker.indexer.Ask(t.Context(), func(x *recall.Index) (recall.Found, error) {
			return x.Search(t.Context(), w.store, recall.Query{Text: "lighthouse keeper", Limit: 10, Now: time.Now()})
		})
		return err
	}
	back := func() {
		t.Helper()
		w.eventually("it is made anew", func() bool { return found() == nil && !r.agent.thinker.indexer.Behind() })
	}
	remove := func() {
		lethetest.Must(t, os.RemoveAll(path))
	}

	r.stop()
	remove()
	lethetest.Must(t, lock.Lock()) // another process is about to make it
	r = w.run(r.id, func(c *Config) { c.Recall.HintTime = 50 * time.Millisecond })
	r.ask(question)
	if _, err := os.Stat(path); err == nil {
		t.Error("the index was made although somebody holds it")
	}
	equal(t, "hints", w.hintsAt(r.id, "7431"), 0)
	lethetest.Must(t, lock.Unlock())
	r.indexed()

	r.stop()
	lethetest.Must(t, lock.Lock()) // another process makes it: what is in it is found
	r = w.run(r.id)
	r.ask("and now, " + question)
	equal(t, "hints", w.hintsAt(r.id, "7431"), 1)
	res := toolRun(t.Context(), r.agent, "RECALL", `{"query":"lighthouse keeper"}`)
	contains(t, string(res.Body), "still being made")
	contains(t, string(res.Body), "7431")
	res = toolRun(t.Context(), r.agent, "RECALL", `{"query":"lighthose keeper"}`)
	contains(t, string(res.Body), "Looked for as well: lighthouse for lighthose.")
	lethetest.Must(t, lock.Unlock())
	back()

	remove() // while it is open
	r.ask("the lighthouse keeper's code?")
	back()
	remove()
	w.write(path, "I am a text.")
	if err := found(); !errors.Is(err, recall.ErrRebuilding) {
		t.Errorf("replaced by a text: %v", err)
	}
	back()

	for _, damage := range []func(){
		func() {},
		func() { w.write(path, "not a database at all, however long it is: "+strings.Repeat("x", 8192)) },
		func() { lethetest.Must(t, os.Mkdir(path, 0o500)) }, // it cannot be made at all
	} {
		r.stop()
		remove()
		damage()
		r = w.run(r.id)
		if fi, err := os.Stat(path); err != nil || !fi.IsDir() {
			r.indexed()
		}
		r.ask("hello again")
		equal(t, "error", w.status(r.id).Error, "")
	}
	r.stop()
}

// A stop does not wait for another process that keeps the index.
func TestStopDoesNotWaitForTheIndex(t *testing.T) {
	t.Parallel()
	w, r := forgotten(t, "")
	r.stop()
	lock := flock.New(r.id.RecallPath() + "-lock")
	lethetest.Must(t, lock.Lock())
	defer lock.Close()
	r = w.run(r.id)
	r.settled()
	r.stop()
	r.agent.thinker.indexer.Stop()
}

// Until something has faded there is no index: no file is made, and RECALL finds nothing.
func TestNoIndexBeforeAnythingFades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.boot("ada", "dev"))
	r.ask("run echo hello")
	res := toolRun(t.Context(), r.agent, "RECALL", `{"query":"hello"}`)
	contains(t, string(res.Body), "nothing found")
	if strings.Contains(string(res.Body), "still being made") {
		t.Errorf("%s", res.Body)
	}
	r.finish()
	if names, err := filepath.Glob(r.id.RecallPath() + "*"); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// What the first edit of a life takes out is found before anything else has faded.
func TestFirstEditIsIndexed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.boot("ada", "dev"))
	r.ask("the crane is painted ochre")
	w.viewed(r.id)
	w.rewrite(w.own(r.id, home.ContextFile), replace("painted ochre", "painted teal"))
	r.edited(1)
	w.eventually("it is found", func() bool {
		res := toolRun(t.Context(), r.agent, "RECALL", `{"query":"ochre"}`)
		return strings.Contains(string(res.Body), "matches: 1")
	})
	r.finish()
}
