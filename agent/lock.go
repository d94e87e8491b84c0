package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
	"lethe/internal/status"
)

// RunningError says that another process holds the identity.
type RunningError struct {
	Identity Identity
	PID      string
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("open %s: running already, in process %s", e.Identity.Name, e.PID)
}

// takeLock takes the lock of an identity. The error is a *RunningError when another
// process has it.
func takeLock(id Identity) (*flock.Flock, error) {
	lock := lockOf(id)
	ok, err := tryLock(lock, 250*time.Millisecond)
	if pid, _ := strconv.Atoi(holder(lock.Path())); !ok && err == nil && !status.Alive(pid) {
		ok, err = tryLock(lock, 5*time.Second) // no living process has written itself down
	}
	if err != nil {
		if _, serr := os.Stat(id.Dir); errors.Is(serr, os.ErrNotExist) {
			return nil, fmt.Errorf("open %s: %w: %s is missing", id.Name, ErrNotFound, id.Dir)
		}
		return nil, fmt.Errorf("lock %s: %w", id.Name, err)
	}
	if !ok {
		return nil, &RunningError{id, holder(lock.Path())}
	}
	// For people and for lethe stop; the lock itself is what counts.
	if err := durable.Overwrite(lock.Path(), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("lock %s: %w", id.Name, err)
	}
	return lock, nil
}

// tryLock waits a while for the lock: a process that only asks whether the identity
// runs holds it for an instant, or until its processor has time for it again.
func tryLock(lock *flock.Flock, patience time.Duration) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ok, err = lock.TryLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return ok, err
}

// Running returns the process that holds an identity, or false. No identity runs as
// the zero one.
func Running(id Identity) (pid string, ok bool) {
	if id.Dir == "" {
		return "", false
	}
	lock := lockOf(id)
	free, err := lock.TryRLock()
	if err != nil {
		return "", false
	}
	if free {
		lock.Unlock()
		return "", false
	}
	return holder(lock.Path()), true
}

// lockOf is not taken yet. A pipe in its place is not waited for, a link not followed.
func lockOf(id Identity) *flock.Flock {
	return flock.New(filepath.Join(id.Dir, "lock"), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
}

// holder reads which process wrote itself into a lock file.
func holder(path string) string {
	data, _, err := durable.ReadRegular(path, 32)
	if err != nil {
		return "unknown"
	}
	pid := strings.TrimSpace(string(data))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown"
	}
	return pid
}
