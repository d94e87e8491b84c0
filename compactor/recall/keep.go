package recall

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"lethe/blobs"
)

// A Keeper keeps the index of an identity that runs. A goroutine of its own reads the log, so that no turn waits
// for it. Whatever happens to the index, the identity goes on.
type Keeper struct {
	Index  *Index
	store  *blobs.Store
	life   string        // the log's path
	used   atomic.Bool   // something may have faded; until then nothing is opened
	behind atomic.Bool   // something that has faded is not in the index yet
	news   chan struct{} // has one when the log has something new
	cancel context.CancelFunc
	done   chan struct{}
}

const indexRetry = 5 * time.Second // after a failure

// Keep begins to keep an index; it is opened at the first Stale.
func Keep(index *Index, store *blobs.Store, life string) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	keeper := &Keeper{
		Index: index, store: store, life: life, news: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
	}
	go keeper.run(ctx) // ends with Stop
	return keeper
}

// Stop ends the goroutine, and waits for it.
func (k *Keeper) Stop() {
	k.cancel()
	<-k.done
}

// Behind reports whether something that has faded is not in the index yet.
func (k *Keeper) Behind() bool { return k.behind.Load() }

// run brings the index up to date whenever there is news; after a failure
// also from time to time.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	failed := false
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-k.news:
		}
		err := k.sync(ctx)
		if ctx.Err() != nil {
			return
		}
		if again = nil; err == nil {
			failed = false
			continue
		}
		again = time.After(indexRetry)
		busy := errors.Is(err, ErrBusy) // another process does it
		if !busy && !failed {
			k.Index.Log.Warn("what has faded cannot be indexed now; it is tried again, and everything else goes on",
				"error", err)
			failed = true
		}
	}
}

// sync lets the index read the log.
func (k *Keeper) sync(ctx context.Context) error {
	return k.guarded(func() error {
		added, err := k.Index.Sync(ctx, k.store, k.life)
		if err == nil {
			k.behind.Store(false)
			k.Index.Log.Debug("indexed what has faded", "originals", added)
		}
		return err
	})
}

// guarded makes an error of a panic: a cache must not take the life with it.
func (k *Keeper) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			k.Index.Log.Error("panic", "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do()
}

// Stale says that the log has something new for the index.
func (k *Keeper) Stale() {
	if k == nil { // the identity does not run
		return
	}
	k.used.Store(true)
	k.behind.Store(true)
	select {
	case k.news <- struct{}{}:
	default: // it has yet to look anyway
	}
}

// Ask asks the index, and waits no longer than ctx lasts, whatever the index
// does.
func (k *Keeper) Ask(ctx context.Context, ask func(*Index) (Found, error)) (Found, error) {
	if !k.used.Load() {
		return Found{}, nil
	}
	var found Found
	var err error
	answered := make(chan struct{})
	go func() { // ends with ask, which ends with ctx or soon after
		defer close(answered)
		err = k.guarded(func() (err error) {
			found, err = ask(k.Index)
			return err
		})
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		return Found{}, ctx.Err()
	}
	if errors.Is(err, ErrRebuilding) {
		k.Stale()
	}
	return found, err
}
