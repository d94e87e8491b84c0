package recall

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// An index is a cache, and may be of any bytes: it is made anew, or answers.
func FuzzFiles(f *testing.F) {
	w, _ := fruit(f, 5)
	w.synced()
	good := w.files()
	state, run := string(good[w.indexPath()]), w.runs()[0]
	reads := func(file string) func(testing.TB) error {
		return func(t testing.TB) error {
			data := lethetest.Read(t, filepath.Join(w.dir, "fuzz"))
			w.t = t
			w.replaced(good)
			lethetest.Must(t, os.WriteFile(file, []byte(data), 0o600))
			x := w.open()
			for range 3 {
				found, err := x.Search(context.Background(), w.store, Query{Text: "apple number3", Since: w.now.Add(-time.Hour), Now: w.now, Limit: 10})
				if err != nil && !errors.Is(err, ErrRebuilding) {
					return err
				}
				for _, hit := range found.Hits {
					if !w.isOwn(hit.Hash) {
						t.Fatalf("hit %s", hit.Hash)
					}
				}
				if err := w.trySync(x); err != nil {
					return err
				}
			}
			return nil
		}
	}
	field := func(name, value string) string {
		before, after, _ := strings.Cut(state, `"`+name+`":`)
		return before + `"` + name + `":` + value + after[strings.IndexAny(after, ",}"):]
	}
	var seeds []string
	for _, name := range []string{"n", "size", "bits", "first", "offset"} {
		for _, value := range []string{"-1", "0", "33", strconv.Itoa(1 << 58), strconv.Itoa(1<<63 - 1)} {
			seeds = append(seeds, field(name, value))
		}
	}
	lethetest.FuzzReaders(f, w.dir, lethetest.Reader{
		Name: "recall.db", File: "fuzz", Seeds: append(seeds, state), Read: reads(w.indexPath()),
	}, lethetest.Reader{
		Name: "a run", File: "fuzz", Seeds: []string{string(good[run])}, Read: reads(run),
	})
}
