package crew

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"lethe/home"
	"lethe/internal/panics"
	"lethe/internal/status"
)

// Supervise runs identities side by side until ctx ends or all have stopped,
// each isolated from the others' failures. open is asked for the running form of
// an identity: its first error is that identity's end; after that, one that fails
// (a full disk, a panic) is opened again, more and more slowly, since its log
// holds everything. Corruption is final, and so is another process that took the
// identity up meanwhile. The error joins those of all identities. The children that an
// identity spawns run with it, and end before it.
func Supervise[L Life](
	ctx context.Context, ids []home.Identity, open func(home.Identity) (L, error), log *slog.Logger,
) error {
	errs := make([]error, len(ids))
	c := &crew{open: func(id home.Identity) (Life, error) { return open(id) }, log: log, members: map[string]*member{}}
	for _, id := range ids {
		c.members[id.Name] = &member{tree: id.Name, runs: true}
	}
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			errs[i] = c.run(ctx, id, id.Name)
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.members, id.Name)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func supervise(ctx context.Context, id home.Identity, open func(home.Identity) (Life, error), log *slog.Logger) error {
	life, err := open(id)
	if err != nil {
		return err
	}
	var failing time.Time // since when
	for wait := time.Duration(0); ; {
		began := time.Now()
		if err == nil {
			err = guard(ctx, life, log)
		}
		if err == nil || errors.Is(err, home.ErrCorrupt) || errors.As(err, new(*home.RunningError)) || ctx.Err() != nil {
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
		life, err = open(id)
	}
}

// longestWait is the longest time between two attempts at opening an identity.
const longestWait = time.Minute

// holdOut waits until an identity that fails is to be opened again, and shows what
// is tried since when. It holds the lock meanwhile, so the identity is not taken
// for stopped. It reports false when the identity is to stop instead.
func holdOut(ctx context.Context, id home.Identity, err error, failing time.Time, wait time.Duration) bool {
	show := func(string) {}
	lock := home.LockOf(id)
	if locked, _ := lock.TryLock(); locked { // otherwise another process has it, and shows what it does
		defer lock.Unlock()
		show = func(state string) {
			s, _ := status.Read(id.Dir) // what else it shows stays
			s.Name, s.Self, s.PID, s.State, s.Since, s.Error = id.Name, id.Self, os.Getpid(), state, failing, err.Error()
			_ = status.Write(id.Dir, s) // a view
		}
	}
	show(status.Retrying)
	for end := time.Now().Add(wait); ctx.Err() == nil && !home.Asked(id, home.WishStop); {
		if time.Now().After(end) {
			return true
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	_ = home.WishStop.Drop(id)
	show(status.Stopped)
	return false
}

// guard runs a life and makes a panic an error.
func guard(ctx context.Context, life Life, log *slog.Logger) (err error) {
	defer panics.Recover(log, &err)
	return life.Run(ctx)
}
