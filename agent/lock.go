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
// process has it. A process that only asks whether the identity runs holds the lock
// for an instant, or until its processor has time for it again, so that is waited for.
func takeLock(id Identity) (*flock.Flock, error) {
	lock := lockOf(id)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	switch _, serr := os.Stat(id.Dir); {
	case errors.Is(serr, os.ErrNotExist):
		return nil, fmt.Errorf("open %s: %w: %s is missing", id.Name, ErrNotFound, id.Dir)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &RunningError{id, holder(lock.Path())}
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", id.Name, err)
	}
	// For people and for lethe stop; the lock itself is what counts.
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
	lock := lockOf(id)
	free, err := lock.TryRLock()
	if free {
		lock.Unlock()
	}
	if free || err != nil {
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
	data, _, _ := durable.ReadRegular(path, 32) // nothing, if it cannot be read
	pid := strings.TrimSpace(string(data))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown"
	}
	return pid
}

// Files in an identity's directory that ask a running one to stop, to stop a job, to compact, or to branch.
// What is no file, such as a directory of that name, asks for nothing.
const (
	stopFile    = "stop"
	stopJobFile = "stop-job" // holds its number
	compactFile = "compact"
	branchFile  = "branch" // holds where to, and a label
)

// requests are those that were there when they were looked for, once a round; the watcher tells of later ones.
type requests struct{ stop, compact, branch bool }

// Stop asks a running identity to stop. It returns at once; the identity's lock
// is free when it has stopped.
func Stop(id Identity) error {
	return durable.Overwrite(filepath.Join(id.Dir, stopFile), nil, 0o600)
}

// AskToStopJob asks a running identity to stop a job. It returns at once; tools.ReadJob
// tells its end.
func AskToStopJob(id Identity, job int) error {
	return durable.Replace(filepath.Join(id.Dir, stopJobFile), []byte(strconv.Itoa(job)), 0o600) // it is never seen without its number
}

// AskToCompact asks a running identity to compact its context. It returns at once;
// a new epoch in its log says that it is done.
func AskToCompact(id Identity) error {
	return durable.Overwrite(filepath.Join(id.Dir, compactFile), nil, 0o600)
}

// CompactPending reports whether a running identity has yet to notice that it was
// asked to compact.
func CompactPending(id Identity) bool { return requested(id, compactFile) }

func requested(id Identity, file string) bool {
	fi, err := os.Lstat(filepath.Join(id.Dir, file))
	return err == nil && fi.Mode().IsRegular()
}

func clearRequest(id Identity, file string) error {
	if !requested(id, file) {
		return nil
	}
	return durable.Remove(filepath.Join(id.Dir, file))
}
