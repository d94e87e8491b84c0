package agent

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/life"
	"lethe/recall"
	"lethe/tools"
)

// Whoever holds the index up, holds up no turn and no stop.
func TestIndexHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	r.stop()
	lethetest.Must(t, os.Remove(r.id.RecallPath()))
	lock := flock.New(r.id.RecallPath() + "-lock")
	lethetest.Must(t, lock.Lock())
	released := false
	defer func() {
		if !released {
			lock.Unlock()
		}
	}()
	r = w.run(r.id, func(c *Config) { c.Recall.HintTime = 50 * time.Millisecond })
	w.say("dev", "ann", "what was the code of the lighthouse keeper?")
	answered++
	w.answered("dev", answered) // the lock is held all the while
	r.settled()
	if _, err := os.Stat(r.id.RecallPath()); err == nil {
		t.Error("the index was made although somebody holds it")
	}
	equal(t, "hints", w.hintsAt(r.id, "7431"), 0)
	released = true
	lethetest.Must(t, lock.Unlock())
	r.indexed()
	w.say("dev", "ann", "and now, the code of the lighthouse keeper?")
	w.answered("dev", answered+1)
	r.stop()
}

// A search that does not come back is left behind.
func TestSearchIsLeftBehind(t *testing.T) {
	t.Parallel()
	x := &indexer{news: make(chan struct{}, 1)}
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

// While another process makes the index, what is in it is found: by turns, which
// do not wait for the rest, and by RECALL, which says so.
func TestSearchWhileItIsMade(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	r.stop()
	lock := flock.New(r.id.RecallPath() + "-lock")
	lethetest.Must(t, lock.Lock())
	defer lock.Unlock()
	r = w.run(r.id)
	r.settled()
	w.say("dev", "ann", "what was the code of the lighthouse keeper?")
	w.answered("dev", answered+1)
	r.settled()
	equal(t, "hints", w.hintsAt(r.id, "7431"), 1)
	res := r.agent.tools.Run(t.Context(), tools.Call{Name: "RECALL", Args: []byte(`{"query":"lighthouse keeper"}`)})
	contains(t, string(res.Body), "still being made")
	contains(t, string(res.Body), "7431")
	lethetest.Must(t, lock.Unlock())
	w.eventually("it is brought up to date", func() bool { return !r.agent.indexer.behind.Load() })
	r.stop()
}

// An index that somebody removes or replaces while it is open comes
// back by itself, as often as that happens.
func TestIndexComesBack(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	found := func() error {
		_, err := r.agent.indexer.search(t.Context(), func(x *recall.Index) ([]recall.Hit, error) {
			return x.Search(t.Context(), w.store, recall.Query{Text: "lighthouse keeper"})
		})
		return err
	}
	back := func() {
		w.Helper()
		w.eventually("it is made anew", func() bool { return found() == nil && !r.agent.indexer.behind.Load() })
	}
	remove := func() {
		for _, end := range []string{"", "-wal", "-shm"} {
			lethetest.Must(t, os.Remove(r.id.RecallPath()+end))
		}
	}
	remove()
	w.say("dev", "ann", "the lighthouse keeper's code?") // finds it missing
	w.answered("dev", answered+1)
	r.settled()
	back()
	remove()
	lethetest.Must(t, os.WriteFile(r.id.RecallPath(), []byte("I am a text."), 0o600))
	if err := found(); !errors.Is(err, recall.ErrRebuilding) {
		t.Errorf("replaced by a text: %v", err)
	}
	back()
	r.stop()
}

// panicky is a log that panics the first time that it is told of a text.
type panicky struct {
	slog.Handler
	text string
	told *atomic.Bool
}

func (p panicky) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p panicky) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, p.text) {
		if p.told.CompareAndSwap(false, true) {
			panic("for a test")
		}
	}
	return p.Handler.Handle(ctx, r)
}

// A panic beside the turns costs no more than an attempt.
func TestIndexSurvivesPanic(t *testing.T) {
	t.Parallel()
	w, r, _ := forgotten(t)
	r.stop()
	db, err := sql.Open("sqlite", "file:"+r.id.RecallPath()+"?_pragma=busy_timeout(60000)")
	lethetest.Must(t, err)
	_, err = db.Exec("UPDATE state SET json = '{'") // Sync finds that, and says so
	lethetest.Must(t, err)
	lethetest.Must(t, db.Close())
	var told atomic.Bool
	r = w.run(r.id, func(c *Config) {
		c.Log = slog.New(panicky{slog.NewTextHandler(io.Discard, nil), "is made anew", &told})
	})
	w.eventually("a panic beside the turns", told.Load)
	r.indexed()
	hits, err := r.agent.indexer.search(t.Context(), func(x *recall.Index) ([]recall.Hit, error) {
		return x.Search(t.Context(), w.store, recall.Query{Text: "lighthouse keeper"})
	})
	if err != nil || len(hits) == 0 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	r.stop()
}

// A stop does not wait for another process's transaction.
func TestStopDoesNotWaitForTheIndex(t *testing.T) {
	t.Parallel()
	w, r, _ := forgotten(t)
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
	ended := make(chan error, 1)
	go func() { ended <- r.wait() }() // ends with the agent
	<-stopped
	select {
	case err := <-ended:
		lethetest.Must(t, err)
	case <-time.After(8 * time.Second): // SQLite alone would wait for ten
		t.Error("the stop waits for the index")
	}
	<-r.agent.indexer.done // and the index does not wait for the transaction
	lethetest.Must(t, tx.Rollback())
}

// The index is a cache: whatever happens to it, turns go on.
func TestIndexIsACache(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	ask := func(what string) {
		t.Helper()
		w.say("dev", "ann", what)
		answered++
		w.answered("dev", answered)
		r.settled()
	}
	lethetest.Must(t, os.RemoveAll(r.id.RecallPath())) // while it is open
	ask("hello there")
	r.stop()
	for _, damage := range [][]byte{nil, []byte("not a database at all, however long it is: " + strings.Repeat("x", 8192))} {
		lethetest.Must(t, os.RemoveAll(r.id.RecallPath()))
		lethetest.Must(t, os.RemoveAll(r.id.RecallPath()+"-wal"))
		if damage != nil {
			lethetest.Must(t, os.WriteFile(r.id.RecallPath(), damage, 0o600))
		}
		r = w.run(r.id)
		r.indexed()
		ask("hello again")
		r.stop()
	}
	lethetest.Must(t, os.RemoveAll(r.id.RecallPath()))
	lethetest.Must(t, os.Mkdir(r.id.RecallPath(), 0o500)) // it cannot be made at all
	r = w.run(r.id)
	ask("still there?")
	s, err := status.Read(r.id.Dir)
	lethetest.Must(t, err)
	equal(t, "error", s.Error, "")
	r.stop()
	lethetest.Must(t, os.Remove(r.id.RecallPath()))
	r = w.run(r.id)
	r.indexed()
	ask("what was the code of the lighthouse keeper?")
	r.stop()
	equal(t, "hints", w.hintsAt(r.id, "7431"), 1)
}
