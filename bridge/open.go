package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/chat"
	"lethe/internal/durable"
)

// Open takes the bridge's lock and loads its state; it starts nothing. If another
// process has the bridge, the error is a *RunningError.
func Open(c Config) (*Bridge, error) {
	if !chat.ValidRoom(c.Name) {
		return nil, fmt.Errorf("open bridge: %q is not a bridge's name", c.Name)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Watcher == nil {
		return nil, fmt.Errorf("open bridge %s: it needs a watcher", c.Name)
	}
	if c.Stale <= 0 {
		c.Stale = DefaultStale
	}
	if err := errors.Join(c.Flood.User.check(), c.Flood.Room.check()); err != nil {
		return nil, fmt.Errorf("open bridge %s: %w", c.Name, err)
	}
	b := &Bridge{
		cfg: c, dir: filepath.Join(c.Home, "bridges", c.Name), log: c.Log.With("bridge", c.Name),
		running: make(chan struct{}, 1), peers: map[string]*peer{},
	}
	if err := durable.MkdirAll(peersDir(b.dir), 0o700); err != nil {
		return nil, fmt.Errorf("open bridge %s: %w", c.Name, err)
	}
	if err := b.takeLock(); err != nil {
		return nil, err
	}
	b.vital = newVital(b.dir, c.Name, c.Stale, b.log)
	b.vital.write(true)
	sweep(b.dir, time.Hour)
	sweep(peersDir(b.dir), 0)
	var err error
	b.inbox, err = openInbox(c.Home, filepath.Join(b.dir, "inbox.jsonl"), c.Flood, b.log)
	if err != nil {
		err = fmt.Errorf("open bridge %s: %w", c.Name, err)
		b.Fail(err)
		b.vital.stop()
		b.lock.Close()
		return nil, err
	}
	return b, nil
}

// Failed records that bridge name could not be opened because of cause, so that it
// shows as dead, with cause, and not as it was left: for what goes wrong before Open,
// which records its own errors. Where the bridge was never opened, nothing is
// recorded, nor where another process runs it; that is a *RunningError.
func Failed(home, name string, cause error) error {
	b := &Bridge{cfg: Config{Name: name}, dir: filepath.Join(home, "bridges", name), log: slog.New(slog.DiscardHandler)}
	if !chat.ValidRoom(name) || cause == nil {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(b.dir, "lock")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := b.takeLock(); err != nil {
		return err
	}
	b.vital = newVital(b.dir, name, DefaultStale, b.log)
	b.Fail(cause)
	b.vital.stop()
	return b.lock.Close()
}

func (b *Bridge) takeLock() error {
	path := filepath.Join(b.dir, "lock")
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() { // opening a pipe would not end
		return fmt.Errorf("lock bridge %s: %s is not a regular file", b.cfg.Name, path)
	}
	b.lock = flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
	// Who only asks whether the bridge runs holds the lock for an instant.
	patience, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
	defer cancel()
	ok, err := b.lock.TryLockContext(patience, 10*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("lock bridge %s: %w", b.cfg.Name, err)
	}
	if !ok {
		_, pid, _ := holder(path) // 0 if it cannot be told
		return &RunningError{b.cfg.Name, pid}
	}
	// For people; the lock itself is what counts.
	if err := durable.Overwrite(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		b.lock.Close()
		return fmt.Errorf("lock bridge %s: %w", b.cfg.Name, err)
	}
	return nil
}

// checkLock is how often Run looks at least whether the lock is still there.
const checkLock = 10 * time.Second

// owns says with an error that the lock file is gone, or another one: the state
// may be another process's from now on. The caller holds io.
func (b *Bridge) owns() error {
	if !b.lost {
		mine, err := b.lock.Stat()
		if err != nil {
			return nil // it cannot be said
		}
		now, err := os.Stat(b.lock.Path())
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(now, mine) {
			return nil
		}
		b.lost = true
		b.vital.lose()
	}
	return fmt.Errorf("the bridge's lock %s was removed while it ran", b.lock.Path())
}

// Run posts the lines that wait in the inbox when their turn comes, and keeps
// health.json, which without it counts as unknown soon. It returns nil when ctx ends; what waits stays in the inbox. One
// Run at a time.
//
// If somebody removes the lock, alone or with all of the state, Run ends with an
// error within ten seconds, since another process could have the bridge now.
// Nothing is written from then on.
func (b *Bridge) Run(ctx context.Context) error {
	select {
	case b.running <- struct{}{}:
		defer func() { <-b.running }()
	default:
		return fmt.Errorf("run bridge %s: it runs already", b.cfg.Name)
	}
	defer b.lastWrite()
	for ctx.Err() == nil {
		b.inbox.io.Lock()
		if b.inbox.closed {
			b.inbox.io.Unlock()
			return fmt.Errorf("run bridge %s: %w", b.cfg.Name, errClosed)
		}
		if err := b.owns(); err != nil {
			b.inbox.io.Unlock()
			return fmt.Errorf("run bridge %s: %w", b.cfg.Name, err)
		}
		b.settle(time.Now())
		b.inbox.io.Unlock()

		wait := min(b.vital.write(false), checkLock)
		if next := b.inbox.next(); !next.IsZero() {
			wait = min(wait, max(time.Until(next), time.Millisecond))
		}
		b.rest(ctx, wait)
	}
	return nil
}

func (b *Bridge) lastWrite() {
	b.inbox.io.Lock()
	defer b.inbox.io.Unlock()
	if b.owns() == nil {
		b.vital.write(true)
	}
}

// rest waits until there is something to do for Run, at most for wait.
func (b *Bridge) rest(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-b.inbox.kick:
	case <-b.vital.changed:
	}
}

// Close writes down that the bridge was stopped and releases its lock. Run,
// Deliver and Accept must have returned; Accept refuses from then on.
func (b *Bridge) Close() error {
	in := b.inbox
	in.io.Lock()
	defer in.io.Unlock()
	if in.closed {
		return nil
	}
	in.closed = true
	if b.owns() != nil {
		in.journal.close()
		return b.lock.Close()
	}
	// If it fails, the next Open looks for these lines in their rooms.
	if err := in.record(time.Now().Add(maxPause), nil); err != nil {
		b.log.Warn("what was posted last could not be recorded", "err", err)
	}
	in.journal.close()
	b.vital.stop()
	return b.lock.Close()
}
