// Package index keeps the posting lists over what a life has faded, in files.
//
//	x := index.Index{Path: path, Owns: owns, Log: log}
//	added, err := x.Sync(ctx, store, lifePath)
//	err = x.View(ctx, func(v *index.View) error {
//		lists, err := v.Lists("backoff")
//		…
//	})
//
// The files are a cache of LIFE.md and the blobs. An index that is absent, damaged, of another format or of another
// log is made again by the next Sync. Sync continues where the last one stopped, also after kill -9: originals and
// the place in the log are committed together. One process at a time syncs; the others get ErrBusy and search what is
// there. A search waits for nobody.
package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"lethe/blobs"
	"lethe/compactor/recall/text"
	"lethe/internal/durable"
	"lethe/life"
)

// ErrBusy says that another process is bringing the index up to date.
var ErrBusy = errors.New("another process is at work on the index")

// ErrRebuilding says that there is no index that can be used. The next Sync makes
// it.
var ErrRebuilding = errors.New("the index has yet to be made")

// Index is the index of one life. It is safe for concurrent use, and keeps nothing open.
type Index struct {
	Path string
	Owns func(blobs.Blob) bool // whether the life does
	Log  *slog.Logger
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
		pass := &pass{Index: x, store: store, reader: reader{stems: text.Stems{}, counts: map[uint64]int{}, words: map[string]bool{}}}
		if err = pass.open(); err == nil {
			err = pass.run(ctx, lifePath)
			pass.close()
		}
		switch {
		case err == nil:
			return pass.added, nil
		case ctx.Err() != nil:
			return pass.added, ctx.Err()
		case x.condemn(err) && again:
			continue
		}
		return pass.added, fmt.Errorf("sync index: %w", err)
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
	lock := durable.Lock(x.Path + "-lock")
	if _, err := lock.TryLockContext(wait, pollTime); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = ErrBusy
		}
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

// condemn reports whether an error says that the index is damaged, and then removes it: the next Sync makes it anew.
func (x *Index) condemn(err error) bool {
	if !errors.Is(err, errDamaged) && !errors.Is(err, life.ErrOtherLog) {
		return false
	}
	x.Log.Warn("the index of what has faded is made anew", "file", x.Path, "why", err)
	_ = os.Remove(x.Path) // else it is damaged the next time, too
	return true
}

// Words returns the words and identifiers of the originals as they are spelt, each with a newline behind it. Some may be
// missing, and some may be in no original.
func (x *Index) Words() string {
	words, _ := os.ReadFile(x.Path + "-words") // without it no word is like another
	return string(words)
}

// View calls do with the content of the index at this moment. A Sync goes on meanwhile. The error is ErrRebuilding if
// the index is absent or turns out to be damaged.
func (x *Index) View(ctx context.Context, do func(*View) error) error {
	opened, err := open(x.Path)
	if err == nil {
		err = do(&View{state: opened, passed: map[string][]bool{}})
		opened.close()
	}
	if errors.Is(err, fs.ErrNotExist) || x.condemn(err) {
		return ErrRebuilding
	}
	if err != nil {
		return err
	}
	return ctx.Err()
}
