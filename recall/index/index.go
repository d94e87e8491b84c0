// Package index keeps the posting lists over what a life has faded, in a SQLite
// file.
//
//	x := index.New(path, owns, log)
//	added, err := x.Sync(ctx, store, lifePath)
//	err = x.View(ctx, func(v *index.View) error {
//		rows, err := v.Postings(ctx, index.Term("backoff", 3), v.Next(), 100)
//		…
//	})
//
// The file is a cache of LIFE.md and the blobs. One that is absent, damaged, of
// another version or of another log is deleted and made again by the next Sync.
// Sync continues where the last one stopped, also after kill -9: originals and
// the place in the log are committed together. One process at a time syncs; the
// others get ErrBusy and search what is there.
package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/blobs"
)

// ErrBusy says that another process is bringing the index up to date.
var ErrBusy = errors.New("another process is at work on the index")

// ErrRebuilding says that there is no index that can be used. The next Sync makes
// it.
var ErrRebuilding = errors.New("the index has yet to be made")

var errClosed = errors.New("the index is closed")

// Index is the index of one life. It is safe for concurrent use.
type Index struct {
	path string
	owns func(blobs.Blob) bool // whether the life does
	log  *slog.Logger

	mu     sync.Mutex // guards what follows
	file   *file      // nil until one is needed
	bad    error      // why the open file has to be made anew
	closed bool
}

// New returns the index at a path, of the life that owns blobs. It opens nothing.
func New(path string, owns func(blobs.Blob) bool, log *slog.Logger) *Index {
	return &Index{path: path, owns: owns, log: log}
}

// Close closes the index. A Sync or a View that is under way ends with an error.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	return x.drop()
}

func (x *Index) drop() error {
	old := x.file
	x.file, x.bad = nil, nil
	if old == nil {
		return nil
	}
	return old.db.Close()
}

// Sync brings the index up to date with the log at lifePath and returns how many
// originals it added. An original that is missing or damaged in the store is logged
// and passed over. After an error, or when ctx ends, what was committed stays.
func (x *Index) Sync(ctx context.Context, store *blobs.Store, lifePath string) (added int, err error) {
	release, err := x.lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("sync index: %w", err)
	}
	defer release()
	for again := true; ; again = false {
		f, err := x.current(true)
		if err != nil {
			return 0, fmt.Errorf("sync index: %w", err)
		}
		p := &pass{file: f, store: store, log: x.log, owns: x.owns, reader: newReader()}
		err = p.run(ctx, lifePath)
		switch {
		case err == nil:
			return p.added, nil
		case ctx.Err() != nil:
			return p.added, ctx.Err()
		case x.condemn(f, err) && again:
			continue
		}
		return p.added, fmt.Errorf("sync index: %w", err)
	}
}

const (
	lockTime = 2 * time.Second // for another process's Sync
	pollTime = 10 * time.Millisecond
)

// lock takes the lock that a Sync needs. Only its holder makes, deletes or writes
// the file.
func (x *Index) lock(ctx context.Context) (release func(), err error) {
	wait, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	lock := flock.New(x.path+"-lock", flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
	if _, err := lock.TryLockContext(wait, pollTime); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = ErrBusy
		}
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

// current returns the open file. One that somebody has deleted or replaced is
// opened again. Where there is none that can be used, the error is ErrRebuilding,
// or a new one is made, for which the caller holds the lock.
func (x *Index) current(renew bool) (*file, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	err := x.bad
	if err == nil {
		if x.file != nil && !x.file.replaced() {
			return x.file, nil
		}
		_ = x.drop()
		if x.file, err = open(x.path, false); err == nil {
			return x.file, nil
		}
	}
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case !missing && !damaged(err):
		return nil, err
	case !renew:
		return nil, ErrRebuilding
	case !missing:
		x.log.Warn("the index of what has faded is made anew", "file", x.path, "why", err)
	}
	_ = x.drop()
	x.file, err = create(x.path)
	return x.file, err
}

// condemn reports whether an error says that a file is damaged. The next Sync makes
// it anew.
func (x *Index) condemn(f *file, err error) bool {
	if !damaged(err) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == f {
		x.bad = err
	}
	return true
}

// View calls do with what the index holds at this moment. A Sync goes on
// meanwhile. If the index turns out to be damaged, or there is none, the error is
// ErrRebuilding.
func (x *Index) View(ctx context.Context, do func(*View) error) error {
	f, err := x.current(false)
	if err != nil {
		return err
	}
	tx, err := f.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		defer tx.Rollback()
		v := &View{postings: tx.StmtContext(ctx, f.postings), docs: tx.StmtContext(ctx, f.docs)}
		if v.state, err = load(ctx, tx); err == nil {
			err = do(v)
		}
	}
	if x.condemn(f, err) {
		return ErrRebuilding
	}
	return err
}
