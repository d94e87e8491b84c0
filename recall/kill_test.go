package recall

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lethe/blobs"
)

// A path that is special to SQLite's URIs is a path.
func TestOddPath(t *testing.T) {
	w, all := fruit(t, 5)
	dir := filepath.Join(w.dir, "a b?c=d&e#f%20g'h\"é")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	x := Open(filepath.Join(dir, "recall.db"), w.logger())
	defer x.Close()
	w.whole(x, all, "an odd path")
	for _, name := range []string{"recall.db", "recall.db-wal", "recall.db-lock"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
}

// kill -9 in the middle of a Sync, and right after it: what was committed before
// stays, and the next Sync goes on.
func TestKilled(t *testing.T) {
	w, all := fruit(t, 300)
	if err := w.synced().Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		w.fades(w.heard("dev", "ada", "gone"+fmt.Sprint(i)))
		all = append(all, w.fades(w.heard("dev", "ada", fmt.Sprintf("apple number%d", len(all))))...)
	}
	var back []func()
	for i := range 5 {
		back = append(back, w.lose(fmt.Sprint("gone", i)))
	}
	for at := range 6 { // of five originals that are missing, and of the end
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"=sync", dirEnv+"="+w.dir, killEnv+"="+strconv.Itoa(at))
		if out, err := cmd.CombinedOutput(); err == nil || err.Error() != "signal: killed" {
			t.Fatalf("at %d: %v: %s", at, err, out)
		}
		x := w.open()
		if !w.holds(x, all[:300], fmt.Sprint("killed at ", at)) {
			t.Errorf("killed at %d: what was committed is not found", at)
		}
		if want := map[bool]int{false: 300, true: 305}[at == 5]; w.originals() != want {
			t.Errorf("killed at %d: %d originals, not %d", at, w.originals(), want)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, put := range back {
		put()
	}
	w.whole(w.open(), all, "after kills")
	if n := w.originals(); n != len(all) || w.anew() {
		t.Errorf("%d originals of %d; %s", n, len(all), w.said.String())
	}
}

// lose takes away the blob with a word, and returns what puts it back.
func (w *world) lose(word string) (back func()) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "blobs", "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		if strings.HasSuffix(string(data), word+"\n") {
			remove(w.t, file)
			return func() { os.WriteFile(file, data, 0o600) }
		}
	}
	w.t.Fatalf("no blob has %s", word)
	return nil
}

// killEnv is how many originals the child passes over before it kills itself.
const killEnv = "LETHE_RECALL_KILL"

// killer kills its process when it is told of the last of some things.
type killer struct {
	slog.Handler
	left int
}

func (k *killer) Handle(context.Context, slog.Record) error {
	k.tick()
	return nil
}

func (k *killer) tick() {
	if k.left--; k.left < 0 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it has yet to arrive
	}
}

// child is the process that is killed.
func child(string) int {
	dir := os.Getenv(dirEnv)
	at, err := strconv.Atoi(os.Getenv(killEnv))
	if err != nil {
		return 1
	}
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	if err == nil {
		k := &killer{slog.NewTextHandler(os.Stderr, nil), at}
		_, err = Open(filepath.Join(dir, "recall.db"), slog.New(k)).Sync(context.Background(), store, filepath.Join(dir, "LIFE.md"), func(int, int) { k.tick() })
	}
	fmt.Fprintln(os.Stderr, "it was not killed", err)
	return 1
}
