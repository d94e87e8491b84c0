package home

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// What a person says of a compaction comes out of the wish's name as it was put in.
func TestKeepWish(t *testing.T) {
	for keep, want := range map[string]string{"": "", " the\nlogs ": "the logs", "50% of a/b %2F": "50% of a/b %2F"} {
		w, err := KeepWish(keep)
		got, about := Compaction([]Wish{WishStop, w, WishCompact})
		if err != nil || strings.ContainsAny(string(w), "/\n") || got != w || about != want {
			t.Errorf("%q became %q, and that %q, %q: %v", keep, w, got, about, err)
		}
	}
	if _, err := KeepWish(strings.Repeat("ü", 124)); err == nil {
		t.Error("a name that no file system takes")
	}
}

// Wishes come in the order in which they were left, whatever their names.
func TestWishesInOrder(t *testing.T) {
	id := Identity{Name: "ada", Dir: t.TempDir()}
	left := []Wish{WishLabel + "here", WishBack + "12", WishCompact}
	for i, w := range left {
		lethetest.Must(t, Ask(id, w))
		at := time.Unix(int64(1000+i), 0)
		lethetest.Must(t, os.Chtimes(w.Path(id), at, at))
	}
	if got := Wishes(id); !slices.Equal(got, left) {
		t.Errorf("%q, want %q", got, left)
	}
}
