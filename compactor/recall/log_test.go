package recall

import (
	"errors"
	"os"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/life"
)

// A log that is cut back, or another one, is indexed from its start.
func TestAnotherLog(t *testing.T) {
	for what, change := range map[string]func(log []byte) []byte{
		"cut":         func(log []byte) []byte { return log[:strings.LastIndex(string(log[:len(log)-1]), "\n")+1] },
		"empty":       func([]byte) []byte { return nil },
		"another one": func([]byte) []byte { return another(t) },
	} {
		w := newWorld(t)
		w.says("an apple")
		w.says("a banana")
		x := w.synced()
		log, err := os.ReadFile(w.lifePath())
		lethetest.Must(t, err)
		lethetest.Must(t, os.WriteFile(w.lifePath(), change(log), 0o600))
		w.sync(x)
		if !w.anew() {
			t.Errorf("%s: nothing is said", what)
		}
		want := 0
		if what == "cut" {
			want = 1
		}
		if n := w.originals(); n != want {
			t.Errorf("%s: %d originals", what, n)
		}
	}
}

// another is the log of another life, whose blobs are elsewhere.
func another(t *testing.T) []byte {
	w := newWorld(t)
	w.heard("dev", "ben", "hello")
	w.says("a cherry")
	log, err := os.ReadFile(w.lifePath())
	lethetest.Must(t, err)
	return log
}

// What stands before damage in the log is indexed; a torn end is not an error.
func TestDamagedLog(t *testing.T) {
	w := newWorld(t)
	apple := w.says("an apple")
	_, err := w.file.WriteString("[2026-03-01T09:02:00.000000Z] fade e7..e8 to=gi")
	lethetest.Must(t, err)
	x := w.open()
	w.sync(x)
	w.finds(x, "apple", apple)
	_, err = w.file.WriteString("\n")
	lethetest.Must(t, err)
	w.sync(x)
	w.says("a banana")
	var corrupt *life.CorruptError
	for range 2 {
		if err := w.trySync(x); !errors.As(err, &corrupt) {
			t.Errorf("sync over damage: %v", err)
		}
	}
	w.finds(x, "apple", apple)
	if w.anew() {
		t.Error(w.said.String())
	}
}
