package recall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"lethe/blobs"
)

// fruit is a life of so many originals, each with a word of its own.
func fruit(t testing.TB, n int) (*world, []blobs.Hash) {
	t.Helper()
	w := newWorld(t)
	var all []blobs.Hash
	for len(all) < n {
		var bodies []string
		for range min(50, n-len(all)) {
			bodies = append(bodies, w.heard("dev", "ada", fmt.Sprintf("apple number%d and the usual talk of days and nights, of wind%d and rain", len(all)+len(bodies), w.next%7)))
		}
		all = append(all, w.fades(bodies...)...)
	}
	return w, all
}

// whole checks that an index holds all of a life, after a Sync and with as many
// more as damage that is found late asks for.
func (w *world) whole(x *Index, all []blobs.Hash, what string) {
	w.t.Helper()
	for range mostRenewals {
		if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		if w.holds(x, all, what) {
			return
		}
	}
	w.t.Errorf("%s: not all is found; %q", what, x.Rebuilt())
}

// holds reports whether a sample of originals is found. Whatever is found is a
// blob of this life.
func (w *world) holds(x *Index, all []blobs.Hash, what string) bool {
	w.t.Helper()
	ok := true
	for i := 0; i < len(all); i += max(1, len(all)/20) {
		hits, err := x.Search(context.Background(), w.store, Query{Text: fmt.Sprintf("apple number%d", i), Now: w.now})
		if errors.Is(err, ErrRebuilding) {
			return false
		}
		if err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		found := false
		for _, h := range hits {
			if b, err := w.store.Get(h.Hash); err != nil || b.Life != w.self.String() {
				w.t.Fatalf("%s: hit %s: %v", what, h.Hash, err)
			}
			found = found || h.Hash == all[i]
		}
		ok = ok && found
	}
	return ok
}

// What may have happened to the file between two processes.
func TestDamagedFile(t *testing.T) {
	w, all := fruit(t, 300)
	if err := w.synced().Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(w.indexPath())
	if err != nil || len(good) < 20<<10 {
		t.Fatal(len(good), err)
	}
	exec := func(statement string) func(string) error {
		return func(path string) error {
			db, err := connect(path)
			if err != nil {
				return err
			}
			_, err = db.write.Exec(statement)
			return errors.Join(err, db.close())
		}
	}
	write := func(data []byte) func(string) error {
		return func(path string) error { return os.WriteFile(path, data, 0o600) }
	}
	overwritten := func(at, n int) []byte {
		bad := append([]byte{}, good...)
		r := rand.New(rand.NewPCG(1, uint64(at)))
		for i := at; i < min(len(bad), at+n); i++ {
			bad[i] = byte(r.IntN(256))
		}
		return bad
	}
	for _, c := range []struct {
		what   string
		change func(path string) error
		said   bool // that it is made anew
	}{
		{"untouched", func(string) error { return nil }, false},
		{"gone", os.Remove, false},
		{"empty", write(nil), false},
		{"cut in its head", write(good[:50]), true},
		{"cut behind its head", write(good[:100]), true},
		{"cut to a page", write(good[:4096]), true},
		{"cut in half", write(good[:len(good)/2]), true},
		{"its last byte gone", write(good[:len(good)-1]), false}, // SQLite takes it for a zero
		{"its last page gone", write(good[:len(good)-4096]), true},
		{"no database", write([]byte(strings.Repeat("I am a text. ", 1000))), true},
		{"zeros", write(make([]byte, len(good))), true},
		{"its head overwritten", write(overwritten(0, 100)), true},
		{"its schema overwritten", write(overwritten(100, 3900)), true},
		{"all but its head overwritten", write(overwritten(4096, len(good))), true},
		{"a directory", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, true},
		{"a link to nowhere", func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/nowhere/at/all", path)) }, true},
		{"another program's", exec("PRAGMA application_id=7"), true},
		{"an older version's", exec("PRAGMA user_version=0"), true},
		{"a later version's", exec("PRAGMA user_version=99"), true},
		{"without a table", exec("DROP TABLE docs"), true},
		{"without its terms", exec("DELETE FROM terms_data"), true},
		{"without its state", exec("DELETE FROM state"), true},
		{"with a broken state", exec("UPDATE state SET json='{'"), true},
		{"with impossible numbers", exec(`UPDATE state SET json='{"docs":-4}'`), true},
		{"with broken addresses", exec("UPDATE docs SET hash=x'00'"), true},
		{"with other addresses", exec("UPDATE docs SET hash=zeroblob(32)"), false},
		{"with strangers' segments", exec("DELETE FROM docs"), true},
	} {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.RemoveAll(w.indexPath() + suffix); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(w.indexPath(), good, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.change(w.indexPath()); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		w.said.Reset()
		x := w.open()
		if c.what == "with other addresses" { // nothing tells, but nothing wrong is found
			w.sync(x)
			if w.holds(x, all, c.what) {
				t.Error("found by addresses that are not there")
			}
		} else {
			w.whole(x, all, c.what)
		}
		if said := x.Rebuilt() != ""; said != c.said || said != strings.Contains(w.said.String(), "made anew") {
			t.Errorf("%s: said %q", c.what, x.Rebuilt())
		}
		if err := x.Close(); err != nil {
			t.Errorf("%s: close: %v", c.what, err)
		}
	}
}

// Bytes overwritten anywhere: no crash, no error for good, nothing wrong found.
func TestOverwrittenAnywhere(t *testing.T) {
	w, all := fruit(t, 300)
	if err := w.synced().Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(w.indexPath())
	if err != nil {
		t.Fatal(err)
	}
	tries, noticed := 30, 0
	for try := range tries {
		r := rand.New(rand.NewPCG(3, uint64(try)))
		bad := append([]byte{}, good...)
		n := []int{1, 16, 512, 4096, 20000}[r.IntN(5)]
		at := r.IntN(len(bad))
		for i := at; i < min(len(bad), at+n); i++ {
			bad[i] = byte(r.IntN(256))
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if err := os.RemoveAll(w.indexPath() + suffix); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(w.indexPath(), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("try %d: %d bytes at %d", try, n, at)
		x := w.open()
		for range 2 {
			if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			w.holds(x, all, what)
		}
		if x.Rebuilt() != "" {
			noticed++
			w.whole(x, all, what)
		}
		if err := x.Close(); err != nil {
			t.Errorf("%s: close: %v", what, err)
		}
	}
	if noticed < tries/4 {
		t.Errorf("only %d of %d were noticed", noticed, tries)
	}
}

// What happens to the files of an open index.
func TestDamagedWhileOpen(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"all removed": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		},
		"moved": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path+".bak", data, 0o600))
		},
		"cut":         func(path string) error { return os.Truncate(path, 8192) },
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"overwritten": func(path string) error { return overwrite(path) },
	} {
		w, all := fruit(t, 200)
		x := w.synced()
		db, err := x.current()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.write.Exec("PRAGMA wal_checkpoint(truncate)"); err != nil { // or all is in there
			t.Fatal(err)
		}
		if err := change(w.indexPath()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		all = append(all, w.fades(w.heard("dev", "ada", "apple number200"))...)
		if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		w.holds(x, all, what)
		if err := x.Close(); err != nil { // what its cache has hidden comes out now
			t.Logf("%s: close: %v", what, err)
		}
		again := w.open()
		w.whole(again, all, what)
		if x.Rebuilt() == "" && again.Rebuilt() == "" {
			t.Errorf("%s: nothing is said", what)
		}
	}
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strings.Repeat("overwritten ", 2000)), 0)
	return errors.Join(err, f.Close())
}

// Another process makes the index anew while this one has it open.
func TestReplacedByAnother(t *testing.T) {
	w, all := fruit(t, 100)
	a, b := w.synced(), w.synced()
	db, err := a.current()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.renew(db, "for a test"); err != nil {
		t.Fatal(err)
	}
	w.whole(a, all, "the one that did it")
	w.whole(b, all, "the other one")
	if b.Rebuilt() != "" {
		t.Errorf("the other one did so too: %s", b.Rebuilt())
	}
}

// A disk that damages everything is given up for a while.
func TestDamagedAgainAndAgain(t *testing.T) {
	w, all := fruit(t, 10)
	x := w.synced()
	var err error
	for range mostRenewals + 1 {
		if err != nil {
			t.Fatalf("given up too early: %v", err)
		}
		db, cerr := x.current()
		if cerr != nil {
			t.Fatal(cerr)
		}
		err = x.renew(db, "for a test")
	}
	if err == nil {
		t.Fatal("it is made anew for ever")
	}
	w.whole(x, all, "after that")
}
