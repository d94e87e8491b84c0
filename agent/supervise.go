package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"lethe/internal/status"
)

// Supervise runs identities side by side until ctx ends or all have stopped,
// each isolated from the others' failures. open is asked for the running form of
// an identity: its first error is that identity's end; after that, one that fails
// (a full disk, a panic) is opened again, more and more slowly, since its log
// holds everything. Corruption is final, and so is another process that took the
// identity up meanwhile. The error joins those of all identities.
func Supervise(ctx context.Context, ids []Identity, open func(Identity) (*Agent, error), log *slog.Logger) error {
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { errs[i] = supervise(ctx, id, open, log.With("identity", id.Name)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func supervise(ctx context.Context, id Identity, open func(Identity) (*Agent, error), log *slog.Logger) error {
	a, err := open(id)
	if err != nil {
		return err
	}
	var failing time.Time // since when
	for wait := time.Duration(0); ; {
		began := time.Now()
		if err == nil {
			err = guard(ctx, a)
		}
		if err == nil || errors.Is(err, ErrCorrupt) || errors.As(err, new(*RunningError)) || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > 2*longestWait {
			wait = 0
		}
		if wait == 0 {
			failing = time.Now().UTC()
		}
		wait = min(max(2*wait, time.Second), longestWait)
		log.Error("the identity failed; it is opened again from its log", "error", err, "in", wait)
		if !holdOut(ctx, id, err, failing, wait) {
			return err
		}
		a, err = open(id)
	}
}

// longestWait is the longest time between two attempts at opening an identity.
const longestWait = time.Minute

// holdOut waits until an identity that fails is to be opened again, and shows what
// is tried since when. It holds the lock meanwhile, so the identity is not taken
// for stopped. It reports false when the identity is to stop instead.
func holdOut(ctx context.Context, id Identity, err error, failing time.Time, wait time.Duration) bool {
	show := func(string) {}
	lock := lockOf(id)
	if locked, _ := lock.TryLock(); locked { // otherwise another process has it, and shows what it does
		defer lock.Unlock()
		show = func(state string) {
			s, _ := status.Read(id.Dir) // what else it shows stays
			s.Name, s.Self, s.PID, s.State, s.Since, s.Error = id.Name, id.Self, os.Getpid(), state, failing, err.Error()
			_ = status.Write(id.Dir, s) // a view
		}
	}
	show(status.Retrying)
	over, look := time.After(wait), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for !requested(id, stopFile) {
		select {
		case <-over:
			return true
		case <-look.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	_ = clearRequest(id, stopFile)
	show(status.Stopped)
	return false
}

// guard runs an agent and makes a panic an error.
func guard(ctx context.Context, a *Agent) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.cfg.Log.Error("panic", "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("run %s: panic: %v", a.id.Name, p)
		}
	}()
	return a.Run(ctx)
}
