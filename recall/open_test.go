package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// A search notices by itself that an open index is no longer what it was.
func TestNoticedBySearch(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"removed":     os.Remove,
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"overwritten": overwrite,
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("I am a text."), 0o600))
		},
		"its shm cut short": func(path string) error { return os.Truncate(path+"-shm", 0) },
	} {
		w, all := fruit(t, 50)
		x := w.synced()
		if _, err := x.db.write.Exec("PRAGMA wal_checkpoint(truncate)"); err != nil { // or all is in there
			t.Fatal(err)
		}
		if err := change(w.indexPath()); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Search(context.Background(), w.store, Query{Text: "apple", Now: w.now}); !errors.Is(err, ErrRebuilding) {
			t.Errorf("%s: %v", what, err)
		}
		w.whole(x, all, what)
		if why := x.Rebuilt(); why == "" || strings.Contains(why, "disk I/O") {
			t.Errorf("%s: said %q", what, why)
		}
		other := w.open()
		w.whole(other, all, what+", to another process")
		if why := other.Rebuilt(); why != "" {
			t.Errorf("%s: another process makes it anew: %s", what, why)
		}
	}
}

// A fault in the middle of something costs an error, and the index is made anew.
func TestFault(t *testing.T) {
	w, all := fruit(t, 50)
	x := w.synced()
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	err = x.guarded(func() error {
		tx, err := db.begin(context.Background(), busyTime)
		if err != nil {
			return err
		}
		defer rollback(tx)
		if err := os.Truncate(w.indexPath()+"-shm", 0); err != nil {
			return err
		}
		_, err = db.load(context.Background(), db.read)
		return err
	})
	if !faulty(err) || !damaged(err) {
		t.Fatal(err)
	}
	if _, err := x.Search(context.Background(), w.store, Query{Text: "apple", Now: w.now}); !errors.Is(err, ErrRebuilding) {
		t.Error(err)
	}
	w.whole(x, all, "after a fault")
	if x.Rebuilt() != whyCut {
		t.Errorf("said %q", x.Rebuilt())
	}
}

// Another process that opens an index which was emptied makes it, and the one
// that had it open goes on with that.
func TestEmptiedBesideAnother(t *testing.T) {
	w, all := fruit(t, 50)
	x := w.synced()
	if err := os.Truncate(w.indexPath(), 0); err != nil {
		t.Fatal(err)
	}
	other := w.open()
	w.whole(other, all, "to another process")
	w.whole(x, all, "to the one that had it open")
	if x.Rebuilt() != "" {
		t.Errorf("made twice: %s", x.Rebuilt())
	}
}

// Who only reads waits for no transaction of anybody.
func TestReadBesideTransaction(t *testing.T) {
	w, all := fruit(t, 20)
	if err := w.synced().Close(); err != nil {
		t.Fatal(err)
	}
	foreign, err := sql.Open("sqlite", "file:"+w.indexPath()+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	tx, err := foreign.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	x := w.open()
	w.whole(x, all, "nothing to write")
	all = append(all, w.fades(w.heard("dev", "ada", "apple number20"))...)
	if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("sync: %v", err)
	}
	if !w.holds(x, all[:20], "something to write") {
		t.Error("what is in it is not found")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	w.whole(x, all, "after that")
	if why := x.Rebuilt(); why != "" {
		t.Errorf("made anew: %s", why)
	}
}

// One process brings the index up to date; the others are told so, and search.
func TestSyncElsewhere(t *testing.T) {
	w, all := fruit(t, 20)
	x := w.synced()
	release, err := w.open().claim(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	more := w.says("apple number20")
	if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("sync: %v", err)
	}
	if !w.holds(x, all, "meanwhile") {
		t.Error("what is in it is not found")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Sync(ctx, w.store, w.lifePath(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	release()
	w.whole(x, append(all, more), "after that")
}

// A lock whose file somebody has removed is nobody's.
func TestLockRemoved(t *testing.T) {
	w, all := fruit(t, 20)
	x := w.open()
	release, err := x.claim(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	remove(t, w.indexPath()+"-lock")
	w.whole(x, all, "with a new lock")
}

// Many processes that find no index make one, together.
func TestManyMakeOne(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w, all := fruit(t, 500)
	var wait sync.WaitGroup
	for range 12 {
		wait.Go(func() {
			x, err := Open(w.indexPath(), w.logger())
			if err != nil {
				t.Error(err)
				return
			}
			defer x.Close()
			for {
				_, err := x.Sync(context.Background(), w.store, w.lifePath(), nil)
				if err == nil {
					break
				}
				if !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
			if !w.holds(x, all, "of many") {
				t.Error("not all is found")
			}
			if n := originals(t, x); n != len(all) {
				t.Errorf("%d originals of %d", n, len(all))
			}
		})
	}
	wait.Wait()
	if said := w.said.String(); strings.Contains(said, "anew") {
		t.Errorf("said %s", said)
	}
}

// A Sync whose file is removed in the middle goes on with the new one.
func TestRemovedDuringSync(t *testing.T) {
	w, all := fruit(t, 1500)
	x := w.open()
	var once sync.Once
	n, err := x.Sync(context.Background(), w.store, w.lifePath(), func(int, int) {
		once.Do(func() { remove(t, w.indexPath()) })
	})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	w.whole(x, all, "after that")
	if n := originals(t, x); n != len(all) {
		t.Errorf("%d originals of %d", n, len(all))
	}
}

// What is said when something is wrong with the file.
func TestReasons(t *testing.T) {
	for want, err := range map[string]error{
		"it has version 7, not 8":                      &unfitError{"it has version 7, not 8"},
		"look up: the index contradicts itself: row 1": fmt.Errorf("look up: %w: row 1", errDamaged),
	} {
		if got := reason(err); got != want || !damaged(err) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if damaged(&panicError{value: "for a test"}) || damaged(ErrBusy) || damaged(nil) {
		t.Error("not every error is damage")
	}
}
