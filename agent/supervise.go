package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Supervise runs identities side by side until ctx ends or all have stopped,
// each isolated from the others' failures. open is asked for the running form of
// an identity: its first error is that identity's end; after that, one that fails
// (a full disk, a panic) is opened again, more and more slowly, since its log
// holds everything. Corruption is final. The error joins those of all identities.
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
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = time.Second, time.Minute
	for {
		began := time.Now()
		if err == nil {
			err = guard(ctx, a)
		}
		if err == nil || errors.Is(err, ErrCorrupt) || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > 2*pace.MaxInterval {
			pace.Reset()
		}
		wait := pace.NextBackOff()
		log.Error("the identity failed; it is opened again from its log", "error", err, "in", wait.Round(time.Millisecond))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		a, err = open(id)
	}
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
