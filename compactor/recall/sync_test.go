package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// What each event means for the index.
func TestWhatIsIndexed(t *testing.T) {
	w := newWorld(t)
	put := func(text string) blobs.Hash {
		return w.put(blobs.Meta{At: w.now, Gist: "g", Life: w.self.String()}, text+"word")
	}
	gist := func(h blobs.Hash) life.Event { return w.fade(1, 2, "gist", h) }
	summary := put("summary")
	w.append(w.fade(1, 2, "summary", summary), gist(put("gist")), w.fade(1, 2, "card", put("card")), w.newEpoch())
	w.append(gist(summary), w.newEpoch()) // it decays: the same original
	w.append(gist(put("alone")))          // its epoch never came
	w.append(w.newEpoch())
	w.append(gist(put("halved")), event.Line(w.now, event.Note{N: 9, Why: "file"}))
	w.append(w.newEpoch())
	stranger := w.put(blobs.Meta{At: w.now, Life: strings.Repeat("0", 64)}, "strangerword")
	nobody := w.put(blobs.Meta{At: w.now}, "nobodyword")
	w.append(gist(stranger), gist(nobody), gist(blobs.Sum([]byte("missing"))), w.newEpoch())
	damaged := put("damaged")
	lethetest.Must(t, os.WriteFile(w.store.Path(damaged), []byte("---\n---\ndamagedword"), 0o600))
	w.append(gist(damaged), w.newEpoch())
	ranged := func(from, to int, level string, h blobs.Hash) mind.Range {
		return mind.Range{From: from, To: to, Level: level, Original: mind.Ref{Hash: h, Short: h.String()[:16]}}
	}
	w.edited(ranged(1, 2, mind.Gist, summary), ranged(5, 7, mind.Gist, put("removed")), ranged(1, 1, mind.Card, put("carded")))
	w.append(gist(put("last")), w.newEpoch())

	x := w.synced()
	for _, word := range []string{"summary", "gist", "removed", "last"} {
		if hits := w.search(x, Query{Text: word + "word"}); len(hits) != 1 {
			t.Errorf("%sword has %d hits", word, len(hits))
		}
	}
	for _, word := range []string{"card", "alone", "halved", "stranger", "nobody", "damaged", "carded"} {
		if hits := w.search(x, Query{Text: word + "word"}); len(hits) != 0 {
			t.Errorf("%sword has hits %s", word, show(hits))
		}
	}
	if n := strings.Count(w.said.String(), "passed over"); n != 4 {
		t.Errorf("%d originals are said to be passed over:\n%s", n, w.said.String())
	}
}

// The time of what no tag dates is when its entries were written.
func TestTimesOfTheEntries(t *testing.T) {
	w := newWorld(t)
	reply := w.put(blobs.Meta{At: w.now, Gist: "g", Life: w.self.String()}, "I count the pears.")
	said := w.now
	w.now = w.now.AddDate(0, 2, 0)
	h := w.fades("◆ e1 reply ◱hash=" + reply.String()[:16] + " gist=g◲\nI count the pears.\n")[0]
	unknown := w.fades(w.worked("I count the plums.", "BASH", "{}", "none"))[0]
	x := w.synced()
	if hit := w.finds(x, "pears", h); !hit.At.Equal(said) {
		t.Errorf("said at %v, not %v", hit.At, said)
	}
	if hit := w.finds(x, "plums", unknown); !hit.At.Equal(w.now) {
		t.Errorf("said at %v, and faded at %v", hit.At, w.now)
	}
}

// Several syncs and searches at once, through two handles as two processes have
// them, each original once.
func TestConcurrently(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWorld(t)
	a, b := w.open(), w.open()
	var bodies []string
	for i := range 400 {
		bodies = append(bodies, w.heard("dev", "ada", fmt.Sprintf("apple number%d", i)))
	}
	done := make(chan struct{})
	var wait, searchers sync.WaitGroup
	for _, x := range []*Index{a, b} {
		wait.Go(func() {
			for range 10 {
				if err := w.trySync(x); err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
		})
		for range 2 {
			searchers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if _, err := w.trySearch(x, "apple"); err != nil && !errors.Is(err, ErrRebuilding) {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	for i := 0; i < len(bodies); i += 8 {
		w.fades(bodies[i : i+8]...)
	}
	wait.Wait()
	close(done)
	searchers.Wait()
	w.sync(a)
	w.sync(b)
	if n := w.originals(); n != 400 || w.anew() {
		t.Errorf("%d originals; %s", n, w.said.String())
	}
}

// One process brings the index up to date; the others are told so, and search.
func TestSyncElsewhere(t *testing.T) {
	w, all := fruit(t, 20)
	x := w.synced()
	lock := flock.New(w.indexPath() + "-lock")
	lethetest.Must(t, lock.Lock())
	more := w.says("apple number20")
	if err := w.trySync(x); !errors.Is(err, ErrBusy) {
		t.Errorf("sync: %v", err)
	}
	if !w.holds(x, all, "meanwhile") {
		t.Error("what is in it is not found")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Sync(ctx, w.store, w.lifePath()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	lethetest.Must(t, lock.Close())
	w.whole(x, append(all, more), "after that")
}

// canceller is a log that ends a context when it has been told of some things.
type canceller struct {
	slog.Handler
	left   int
	cancel func()
}

func (c *canceller) Handle(context.Context, slog.Record) error {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return nil
}

// A Sync that is cut short anywhere leaves what was committed before, and the next
// one goes on.
func TestSyncCutShort(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w, all := fruit(t, 100)
	w.synced()
	for range 3 {
		gone := w.says("gone")
		remove(t, w.store.Path(gone))
		all = append(all, w.says(fmt.Sprintf("apple number%d", len(all))))
	}
	for at := 1; at <= 3; at++ { // at each of the originals that are missing
		ctx, cancel := context.WithCancel(t.Context())
		x := Open(w.indexPath(), w.state().Owns, slog.New(&canceller{slog.NewTextHandler(io.Discard, nil), at, cancel}))
		if added, err := x.Sync(ctx, w.store, w.lifePath()); added > 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("cut short at %d: %d added, %v", at, added, err)
		}
		if _, err := x.Search(ctx, w.store, Query{Text: "apple"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a search that nobody waits for: %v", err)
		}
		if !w.holds(x, all[:100], fmt.Sprint("cut short at ", at)) {
			t.Errorf("cut short at %d: what was committed is not found", at)
		}
	}
	x := w.open()
	w.whole(x, all, "in the end")
	if n := w.originals(); n != len(all) || w.anew() {
		t.Errorf("%d originals of %d; %s", n, len(all), w.said.String())
	}
}

// However often the index is synced, a search has few places to look at.
func TestSmallSyncsAreMerged(t *testing.T) {
	w := newWorld(t)
	x := w.open()
	for i := range 60 {
		w.says(fmt.Sprintf("apple number%d", i))
		w.sync(x)
	}
	if places := len(w.runs()); places > 6 {
		t.Errorf("%d places to look at", places)
	}
	if n := w.originals(); n != 60 {
		t.Errorf("%d originals", n)
	}
}

// A path with characters that are special elsewhere is a path.
func TestOddPath(t *testing.T) {
	w, all := fruit(t, 5)
	dir := filepath.Join(w.dir, "a b?c=d&e#f%20g'h\"é")
	lethetest.Must(t, os.Mkdir(dir, 0o700))
	x := Open(filepath.Join(dir, "recall.db"), w.state().Owns, w.logger())
	w.whole(x, all, "an odd path")
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		if fi, err := os.Stat(name); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	if len(names) != 4 { // and recall.db-lock, and the words
		t.Errorf("%v, %v", names, err)
	}
}
