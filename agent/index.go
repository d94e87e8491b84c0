package agent

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"lethe/recall"
)

// recallFile is the index over what an identity has forgotten. It can be deleted
// at any time.
const recallFile = "recall.db"

// RecallPath is where the index of an identity is.
func (id Identity) RecallPath() string { return filepath.Join(id.Dir, recallFile) }

// indexer keeps that index while the identity runs. A goroutine of its own brings
// it up to date, so that no turn waits for it. Whatever happens to the index, the
// identity goes on.
type indexer struct {
	index  *recall.Index
	behind atomic.Bool   // something that has faded is not in the index yet
	news   chan struct{} // has one when the log has something new
	cancel context.CancelFunc
	done   chan struct{}
}

const (
	indexStopTime = time.Second // that a stop waits for the indexer
	indexRetry    = time.Second // after a failure; doubled each time, up to a minute
)

// startIndexer begins to keep the index.
func (a *Agent) startIndexer() {
	ctx, cancel := context.WithCancel(context.Background())
	a.indexer = &indexer{index: recall.Open(a.id.RecallPath(), a.id.Self, a.cfg.Log), news: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	a.indexer.behind.Store(true)
	go a.indexer.run(ctx, a) // ends with stopIndexer, or soon after it
}

// stopIndexer ends the goroutine. It waits no longer than a stop can: SQLite may
// wait for another process's lock for seconds.
func (a *Agent) stopIndexer() {
	a.indexer.cancel()
	select {
	case <-a.indexer.done:
	case <-time.After(indexStopTime):
		a.cfg.Log.Warn("the index of what has faded is busy; not waited for")
	}
}

// run brings the index up to date, now and whenever there is news; after a failure
// also from time to time. It uses of a only what never changes.
func (x *indexer) run(ctx context.Context, a *Agent) {
	defer close(x.done)
	defer x.index.Close()
	pause := time.Duration(0)
	for {
		err := x.sync(ctx, a)
		if ctx.Err() != nil {
			return
		}
		var again <-chan time.Time
		if err == nil {
			pause = 0
		} else {
			if pause == 0 && !errors.Is(err, recall.ErrBusy) {
				a.cfg.Log.Warn("what has faded cannot be indexed now; it is tried again, and everything else goes on", "error", err)
			}
			pause = min(max(2*pause, indexRetry), time.Minute)
			if errors.Is(err, recall.ErrBusy) { // another process does it, which Sync has waited for
				pause = indexRetry
			}
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-x.news:
		}
	}
}

// sync lets the index read the log. A panic is an error: a cache must not take the
// life with it.
func (x *indexer) sync(ctx context.Context, a *Agent) (err error) {
	defer recovered(&err)
	added, err := x.index.Sync(ctx, a.store, a.id.LIFE())
	if err == nil {
		x.behind.Store(false)
		a.cfg.Log.Debug("indexed what has faded", "originals", added)
	}
	return err
}

// stale says that the log has something new for the index.
func (x *indexer) stale() {
	if x == nil { // the identity does not run
		return
	}
	x.behind.Store(true)
	select {
	case x.news <- struct{}{}:
	default: // it has yet to look anyway
	}
}

// search asks the index, and waits no longer than ctx lasts, whatever the index
// does.
func (x *indexer) search(ctx context.Context, ask func(*recall.Index) ([]recall.Hit, error)) ([]recall.Hit, error) {
	var hits []recall.Hit
	var err error
	answered := make(chan struct{})
	go func() { // ends with ask, which ends with ctx or soon after
		defer close(answered)
		defer recovered(&err)
		hits, err = ask(x.index)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(err, recall.ErrRebuilding) {
		x.stale()
	}
	return hits, err
}
