package agent

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"lethe/recall"
)

// Whoever holds the index up, holds up no turn and no stop.
func TestIndexHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	r.stop()
	must(t, os.Remove(r.id.RecallPath()))
	lock := flock.New(r.id.RecallPath() + "-lock")
	must(t, lock.Lock())
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
	select {
	case <-r.agent.memory.tried:
		t.Error("the index was opened although somebody holds it")
	default:
	}
	equal(t, "hints", w.hintsAt(r.id, "7431"), 0)
	released = true
	must(t, lock.Unlock())
	r.indexed()
	w.say("dev", "ann", "and now, the code of the lighthouse keeper?")
	w.answered("dev", answered+1)
	r.stop()
}

// A search that does not come back is left behind.
func TestSearchIsLeftBehind(t *testing.T) {
	t.Parallel()
	m := &memory{tried: make(chan struct{}), news: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := m.search(ctx, nil); err != errNoIndex {
		t.Errorf("before the index is open: %v", err)
	}
	close(m.tried)
	if _, err := m.search(t.Context(), nil); err != errNoIndex {
		t.Errorf("without an index: %v", err)
	}
	m.index.Store(&recall.Index{})
	hang := make(chan struct{})
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := m.search(ctx, func(*recall.Index) ([]recall.Hit, error) { <-hang; return nil, nil })
	if err != context.DeadlineExceeded {
		t.Errorf("of one that hangs: %v", err)
	}
	close(hang)
	m.lookups.Wait()
	if _, err := m.search(t.Context(), func(*recall.Index) ([]recall.Hit, error) { panic("for a test") }); err == nil {
		t.Error("a panic is no error")
	}
	if _, err := m.search(t.Context(), func(*recall.Index) ([]recall.Hit, error) { return nil, recall.ErrRebuilding }); err == nil || !m.behind.Load() {
		t.Errorf("of a damaged one: %v", err)
	}
	<-m.news
}

// An index whose file somebody removes while it is open comes back by itself.
func TestIndexComesBack(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t)
	for _, end := range []string{"", "-wal", "-shm"} {
		must(t, os.Remove(r.id.RecallPath()+end))
	}
	w.say("dev", "ann", "the lighthouse keeper's code?") // finds it missing
	w.answered("dev", answered+1)
	r.settled()
	w.eventually("it is made anew", func() bool {
		hits, err := r.agent.memory.search(t.Context(), func(x *recall.Index) ([]recall.Hit, error) {
			return x.Search(t.Context(), w.store, recall.Query{Text: "lighthouse keeper"})
		})
		return err == nil && len(hits) > 0 && !r.agent.memory.behind.Load()
	})
	r.stop()
}

// A stop does not wait for another process's transaction.
func TestStopDoesNotWaitForTheIndex(t *testing.T) {
	t.Parallel()
	w, r, _ := forgotten(t)
	r.stop()
	db, err := sql.Open("sqlite", "file:"+r.id.RecallPath()+"?_txlock=immediate")
	must(t, err)
	defer db.Close()
	tx, err := db.Begin()
	must(t, err)
	r = w.run(r.id)
	r.settled()
	r.cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.wait() }() // ends with the agent
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(8 * time.Second): // SQLite alone would wait for ten
		t.Error("the stop waits for the index")
	}
	must(t, tx.Rollback())
	<-r.agent.memory.done
}
