package agent

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"lethe/internal/lethetest"
	"lethe/life"
	"lethe/recall"
	"lethe/tools"
)

// The index is a cache: whoever holds it up holds up no turn, and whatever happens to it,
// turns go on and it comes back by itself.
func TestIndexIsACache(t *testing.T) {
	t.Parallel()
	w, r := forgotten(t, "")
	path := r.id.RecallPath()
	lock := flock.New(path + "-lock")
	question := "run echo what was the code of the lighthouse keeper?"
	found := func() error {
		_, err := r.agent.indexer.search(t.Context(), func(x *recall.Index) ([]recall.Hit, error) {
			return x.Search(t.Context(), w.store, recall.Query{Text: "lighthouse keeper"})
		})
		return err
	}
	back := func() {
		t.Helper()
		w.eventually("it is made anew", func() bool { return found() == nil && !r.agent.indexer.behind.Load() })
	}
	remove := func() {
		for _, end := range []string{"", "-wal", "-shm"} {
			lethetest.Must(t, os.RemoveAll(path+end))
		}
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
	res := r.agent.tools.Run(t.Context(), tools.Call{Name: "RECALL", Args: []byte(`{"query":"lighthouse keeper"}`)})
	contains(t, string(res.Body), "still being made")
	contains(t, string(res.Body), "7431")
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

// A search that does not come back is left behind.
func TestSearchIsLeftBehind(t *testing.T) {
	t.Parallel()
	x := &indexer{a: &Agent{cfg: Config{Log: discard()}}, news: make(chan struct{}, 1)}
	hang := make(chan struct{})
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := x.search(ctx, func(*recall.Index) ([]recall.Hit, error) { <-hang; return nil, nil })
	if err != context.DeadlineExceeded {
		t.Errorf("of one that hangs: %v", err)
	}
	if _, err := x.search(t.Context(), func(*recall.Index) ([]recall.Hit, error) { panic("for a test") }); err == nil {
		t.Error("a panic is no error")
	}
	if _, err := x.search(t.Context(), func(*recall.Index) ([]recall.Hit, error) { return nil, recall.ErrRebuilding }); err == nil || !x.behind.Load() {
		t.Errorf("of a damaged one: %v", err)
	}
	<-x.news
}

// A stop does not wait for another process's transaction.
func TestStopDoesNotWaitForTheIndex(t *testing.T) {
	t.Parallel()
	w, r := forgotten(t, "")
	r.stop()
	db, err := sql.Open("sqlite", "file:"+r.id.RecallPath()+"?_txlock=immediate")
	lethetest.Must(t, err)
	defer db.Close()
	_, err = db.Exec("DELETE FROM docs; UPDATE state SET json = '{}'") // there is something to write
	lethetest.Must(t, err)
	tx, err := db.Begin()
	lethetest.Must(t, err)
	stopped := make(chan struct{}) // what comes after it writes nothing that a slow disk holds up
	r = w.run(r.id, func(c *Config) {
		c.Tell = func(_ Identity, e life.Event) {
			if e.Kind == "stopped" {
				close(stopped)
			}
		}
	})
	r.settled()
	r.cancel()
	<-stopped
	select {
	case <-r.done:
		lethetest.Must(t, r.err)
	case <-time.After(8 * time.Second): // SQLite alone would wait for ten
		t.Error("the stop waits for the index")
	}
	<-r.agent.indexer.done // and the index does not wait for the transaction
	lethetest.Must(t, tx.Rollback())
}
