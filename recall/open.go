package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Who makes an index, replaces it or brings it up to date holds the lock beside
// it. Who only opens and searches one that is there does not: it looks afterwards
// whether what it has opened is still what the path leads to.

// ErrBusy says that another process is at work on the index: it makes it, brings
// it up to date, or holds it for a reason of its own. What is in it can be
// searched meanwhile.
var ErrBusy = errors.New("another process is at work on the index")

const (
	openTime  = 10 * time.Second // for an index that another process is making
	claimTime = 2 * time.Second  // for another process's Sync or transaction
	pollTime  = 10 * time.Millisecond
)

// claim takes the lock of the index at path. Who does not get it in time has
// ErrBusy.
func claim(ctx context.Context, path string, most time.Duration) (*flock.Flock, error) {
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		lock := flock.New(path+"-lock", flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
		if _, err := lock.TryLockContext(wait, pollTime); err != nil {
			if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				err = ErrBusy
			}
			return nil, err
		}
		held, err := lock.Stat()
		now, nerr := os.Stat(lock.Path())
		if err == nil && nerr == nil && os.SameFile(held, now) {
			return lock, nil
		}
		lock.Close() // somebody has removed it: another process's lock has the name
	}
}

// unfitError says that a file cannot be the index. why is empty where there is
// none yet.
type unfitError struct{ why string }

func (e *unfitError) Error() string {
	if e.why == "" {
		return "there is no index yet"
	}
	return e.why
}

// openDatabase opens the index at path, or makes it; made says why it was made
// anew. While another process makes it this one waits.
func openDatabase(path string) (db *database, made string, err error) {
	for began := time.Now(); ; {
		db, err := connect(path)
		if !errors.As(err, new(*unfitError)) {
			return db, "", err
		}
		lock, err := claim(context.Background(), path, 10*pollTime)
		if err == nil {
			db, made, err = makeDatabase(path, nil, "")
			return db, made, errors.Join(err, lock.Close())
		}
		if !errors.Is(err, ErrBusy) || time.Since(began) > openTime {
			return nil, "", err
		}
	}
}

// makeDatabase makes the index at path unless it is fit for use. One that is
// still the file old, while why is not empty, is unfit for that reason. The
// caller holds the lock.
func makeDatabase(path string, old os.FileInfo, why string) (db *database, made string, err error) {
	if why != "" && old != nil {
		if fi, err := os.Lstat(path); err != nil || !os.SameFile(fi, old) {
			why = "" // another process was faster
		}
	}
	if why == "" {
		db, err := connect(path)
		var unfit *unfitError
		if !errors.As(err, &unfit) {
			return db, "", err
		}
		why = unfit.why
	}
	if err := removeDatabase(path); err != nil {
		return nil, "", err
	}
	db, err = create(path)
	return db, why, err
}

// removeDatabase removes an index. The caller holds the lock: between two of
// these names another process must not make a new one. A directory with something
// in it is somebody's, and stays.
func removeDatabase(path string) error {
	var errs []error
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// connect opens an index that is there and looks at its head, which begins no
// write. One that cannot be used is an unfitError.
func connect(path string) (*database, error) {
	for range 5 {
		db, err := dial(path)
		if err != nil {
			return nil, err
		}
		if err := db.begun(); err != nil {
			return nil, err
		}
		if !db.replaced() {
			return db, nil
		}
		db.close() // another process has just made it anew
	}
	return nil, ErrBusy
}

// begun looks at the head, and closes what cannot be used.
func (db *database) begun() error {
	err := protect(db.check)
	if err == nil {
		return nil
	}
	if !faulty(err) {
		db.close()
	}
	if damaged(err) {
		return &unfitError{reason(err)}
	}
	return err
}

// create makes the tables in a new file. Its companions get its permissions.
func create(path string) (*database, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	db, err := attach(path)
	if err != nil {
		return nil, err
	}
	if err := protect(db.fill); err != nil {
		if !faulty(err) {
			db.close()
		}
		return nil, errors.Join(err, removeDatabase(path))
	}
	if err := db.begun(); err != nil {
		return nil, err
	}
	db.fresh = true
	return db, nil
}

// dial opens what may be an index.
func dial(path string) (*database, error) {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &unfitError{}
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, &unfitError{"it is not a file"}
	case fi.Size() == 0:
		return nil, &unfitError{}
	}
	db, err := attach(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &unfitError{}
	}
	return db, err
}

// attach opens a file that is there. What cannot be written is of no use, since
// SQLite writes beside it even for a reader.
func attach(path string) (*database, error) {
	head, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	db := &database{path: path, head: head}
	if db.file, err = head.Stat(); err == nil {
		// NORMAL: a power loss can take the newest transactions, and nothing else.
		db.write, err = sql.Open("sqlite", source(path, writeCache, 0, "&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(33554432)"))
	}
	if err == nil {
		db.write.SetMaxOpenConns(1)
		db.read, err = sql.Open("sqlite", source(path, readCache, busyTime, "&_query_only=1"))
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	// What SQLite keeps for this connection spares each search of the others to ask
	// the system for memory. Where it cannot be opened yet, it is by who writes.
	_ = db.write.Ping()
	return db, nil
}

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// faulty reports whether an error is a fault in mapped memory: somebody has cut
// recall.db-shm short. SQLite has stopped in the middle of something then, and
// may hold its own locks for ever.
func faulty(err error) bool {
	var p *panicError
	return errors.As(err, &p) && fault(p.value)
}

func fault(panicked any) bool {
	_, ok := panicked.(interface{ Addr() uintptr })
	return ok
}

// protect makes an error of a panic, also of one for a fault.
func protect(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return do()
}
