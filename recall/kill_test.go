package recall

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
)

func TestFullDisk(t *testing.T) {
	w, all := fruit(t, 100)
	x := w.synced()
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := db.write.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		if _, err := db.write.Exec(fmt.Sprintf("PRAGMA max_page_count=%d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 1)
	var bodies []string
	for i := range 900 {
		bodies = append(bodies, w.heard("dev", "ada", fmt.Sprintf("apple number%d%s", 100+i, strings.Repeat(fmt.Sprintf(" pear%d", i), 20))))
	}
	all = append(all, w.fades(bodies...)...)
	for range 2 {
		if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); err == nil || !strings.Contains(err.Error(), "full") {
			t.Fatalf("sync on a full disk: %v", err)
		}
		if !w.holds(x, all[:100], "on a full disk") {
			t.Error("what was there is not found")
		}
	}
	limit(1 << 30)
	w.whole(x, all, "after that")
	if why := x.Rebuilt(); why != "" {
		t.Errorf("made anew: %s", why)
	}
}

// Where nothing can be written, the index is a temporary one.
func TestReadOnlyDirectory(t *testing.T) {
	w, all := fruit(t, 10)
	dir := filepath.Join(w.dir, "closed")
	if os.Geteuid() == 0 {
		dir = "/sys" // where not even root makes a file
		if f, err := os.Create(filepath.Join(dir, "lethe-test")); err == nil {
			f.Close()
			remove(t, f.Name())
			t.Skip("no directory is closed to this user")
		}
	} else if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	x, err := Open(filepath.Join(dir, "recall.db"), w.logger())
	if err != nil {
		t.Fatal(err)
	}
	w.whole(x, all, "in a closed directory")
	if !strings.Contains(x.Rebuilt(), "temporary") {
		t.Errorf("said %q", x.Rebuilt())
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A path that is special to SQLite's URIs is a path.
func TestOddPath(t *testing.T) {
	w, all := fruit(t, 5)
	dir := filepath.Join(w.dir, "a b?c=d&e#f%20g'h\"é")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	x, err := Open(filepath.Join(dir, "recall.db"), w.logger())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	w.whole(x, all, "an odd path")
	for _, name := range []string{"recall.db", "recall.db-wal", "recall.db-lock"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
}

// kill -9 at any moment of a Sync: what was committed stays, and the next one
// goes on.
func TestKilled(t *testing.T) {
	w, all := fruit(t, 2000)
	kills := 0
	r := rand.New(rand.NewPCG(1, 1))
	for try := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"=sync", dirEnv+"="+w.dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+r.IntN(120)) * time.Millisecond) // any moment will do
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if cmd.Wait() != nil {
			kills++
		}
		x := w.open()
		if n := originals(t, x); n > 0 {
			hits, err := x.Search(context.Background(), w.store, Query{Text: "apple", Now: w.now})
			if err != nil || len(hits) == 0 {
				t.Errorf("try %d: %d originals, hits %s, %v", try, n, show(hits), err)
			}
		}
		if why := x.Rebuilt(); why != "" {
			t.Errorf("try %d: made anew: %s", try, why)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	if kills == 0 {
		t.Log("no kill came in time")
	}
	x := w.open()
	w.whole(x, all, "after kills")
	if n := originals(t, x); n != len(all) {
		t.Errorf("%d originals of %d", n, len(all))
	}
}

// child is the process that is killed.
func child(string) int {
	dir := os.Getenv(dirEnv)
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	if err == nil {
		var x *Index
		if x, err = Open(filepath.Join(dir, "recall.db"), slog.New(slog.DiscardHandler)); err == nil {
			_, err = x.Sync(context.Background(), store, filepath.Join(dir, "LIFE.md"), nil)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
