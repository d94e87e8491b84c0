package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"lethe/recall"
)

// recallFile is the index over what an identity has forgotten. It can be deleted
// at any time.
const recallFile = "recall.db"

// RecallPath is where the index of an identity is.
func (id Identity) RecallPath() string { return filepath.Join(id.Dir, recallFile) }

// memory is that index while the identity runs. A goroutine of its own opens it
// and keeps it up to date, so that no turn waits for it; and whatever becomes of
// it, it is opened again and the identity goes on.
type memory struct {
	index   atomic.Pointer[recall.Index] // nil while there is none to be asked
	behind  atomic.Bool                  // something that has faded is not in it yet
	tried   chan struct{}                // closed after the first attempt to open it
	once    sync.Once                    // closes tried
	news    chan struct{}                // the log has something for it
	lookups sync.WaitGroup
	cancel  context.CancelFunc
	done    chan struct{}
}

// Bounds of what waits for an index.
const (
	closeTime   = time.Second // a stop
	reopenFirst = time.Second // between attempts to open or mend it, doubled
	reopenMost  = time.Minute
	busyTime    = time.Minute // after which another process in the way is told of
)

// remember begins to keep the index.
func (a *Agent) remember() {
	ctx, cancel := context.WithCancel(context.Background())
	a.memory = &memory{tried: make(chan struct{}), news: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	a.memory.behind.Store(true)
	go a.memory.keep(ctx, a) // ends with closeMemory, or soon after it
}

// closeMemory ends the goroutine. It waits no longer than a stop can: SQLite may
// sit on another process's lock for seconds.
func (a *Agent) closeMemory() {
	if a.memory == nil {
		return
	}
	a.memory.cancel()
	select {
	case <-a.memory.done:
	case <-time.After(closeTime):
		a.cfg.Log.Warn("the index of what has faded is busy; not waited for")
	}
}

// keep opens the index and brings it up to date, now and whenever there is news;
// after a failure also from time to time. It uses of a only what never changes.
func (m *memory) keep(ctx context.Context, a *Agent) {
	defer close(m.done)
	defer func() {
		index := m.index.Swap(nil)
		m.lookups.Wait()
		if index != nil {
			index.Close()
		}
	}()
	var pause time.Duration
	var busy time.Time // since when another process is in the way
	told := false      // of that
	for {
		err := m.attempt(ctx, a)
		if ctx.Err() != nil {
			return
		}
		var again <-chan time.Time
		switch {
		case err == nil:
			pause, busy, told = 0, time.Time{}, false
		case errors.Is(err, recall.ErrBusy): // it has waited for that already
			if busy.IsZero() {
				busy = time.Now()
			}
			if !told && time.Since(busy) > busyTime {
				a.cfg.Log.Warn("another process keeps the index of what has faded from being brought up to date", "error", err)
				told = true
			}
			again = time.After(reopenFirst)
		default:
			if pause == 0 {
				a.cfg.Log.Warn("what has faded cannot be indexed now; it is tried again, and everything else goes on", "error", err)
			}
			pause = min(max(2*pause, reopenFirst), reopenMost)
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-m.news:
		}
	}
}

// attempt is update, after which an index that brought about a panic is given up:
// a cache must not take the life with it.
func (m *memory) attempt(ctx context.Context, a *Agent) (err error) {
	defer m.once.Do(func() { close(m.tried) })
	defer func() {
		if p := recover(); p != nil {
			a.cfg.Log.Error("the index of what has faded failed, and is opened again", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
			m.drop()
		}
	}()
	return m.update(ctx, a)
}

// drop gives the index up. A search in it ends with an error.
func (m *memory) drop() {
	if index := m.index.Swap(nil); index != nil {
		m.lookups.Go(func() { index.Close() }) // as soon as nothing writes to it
	}
}

// update opens the index if it is not, and lets it read the log.
func (m *memory) update(ctx context.Context, a *Agent) error {
	index := m.index.Load()
	if index == nil {
		index = recall.Open(a.id.RecallPath(), a.cfg.Log)
		m.index.Store(index)
	}
	m.once.Do(func() { close(m.tried) }) // what is in it can be searched
	added, err := index.Sync(ctx, a.store, a.id.LIFE(), nil)
	if err != nil {
		return err
	}
	m.behind.Store(false)
	if added > 0 {
		a.cfg.Log.Debug("indexed what has faded", "originals", added)
	}
	return nil
}

// stale says that the log has something new for the index.
func (m *memory) stale() {
	if m == nil {
		return
	}
	m.behind.Store(true)
	select {
	case m.news <- struct{}{}:
	default: // it has yet to look anyway
	}
}

// errNoIndex says that there is nothing to ask.
var errNoIndex = errors.New("what has faded cannot be searched now")

// search asks the index, and waits no longer than ctx lasts, whatever the index
// does.
func (m *memory) search(ctx context.Context, ask func(*recall.Index) ([]recall.Hit, error)) ([]recall.Hit, error) {
	if m == nil {
		return nil, errNoIndex
	}
	select {
	case <-m.tried:
	case <-ctx.Done():
		return nil, errNoIndex
	}
	index := m.index.Load()
	if index == nil {
		return nil, errNoIndex
	}
	var hits []recall.Hit
	var err error
	answered := make(chan struct{})
	m.lookups.Go(func() { // ends with ask, which ends with ctx or soon after
		defer close(answered)
		defer func() {
			if p := recover(); p != nil { // the same words would bring it about again and again
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		hits, err = ask(index)
	})
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(err, recall.ErrRebuilding) {
		m.stale()
	}
	return hits, err
}
