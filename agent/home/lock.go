package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
)

// RunningError says that another process holds the identity.
type RunningError struct {
	Identity Identity
	PID      string
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("open %s: running already, in process %s", e.Identity.Name, e.PID)
}

// Lock takes the lock of an identity. The error is a *RunningError when another
// process has it. A process that only asks whether the identity runs holds the lock
// for an instant, or until its processor has time for it again, so that is waited for.
func Lock(id Identity) (*flock.Flock, error) {
	lock := LockOf(id)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("open %s: %w: %s is missing", id.Name, ErrNotFound, id.Dir)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &RunningError{id, holder(lock.Path())}
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", id.Name, err)
	}
	// For people and for lethe stop; the lock itself counts.
	if err := durable.Overwrite(lock.Path(), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("lock %s: %w", id.Name, err)
	}
	return lock, nil
}

// Running returns the process that holds an identity, or false. No identity runs as
// the zero one.
func Running(id Identity) (pid string, ok bool) {
	if id.Dir == "" {
		return "", false
	}
	lock := LockOf(id)
	free, err := lock.TryRLock()
	if free {
		lock.Unlock()
	}
	if free || err != nil {
		return "", false
	}
	return holder(lock.Path()), true
}

// LockOf is not taken yet.
func LockOf(id Identity) *flock.Flock { return durable.Lock(filepath.Join(id.Dir, "lock")) }

// holder reads which process wrote itself into a lock file.
func holder(path string) string {
	data, _, _ := durable.ReadRegular(path, 32) // nothing, if it cannot be read
	pid := strings.TrimSpace(string(data))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown"
	}
	return pid
}
