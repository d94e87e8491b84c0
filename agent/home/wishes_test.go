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
func TestCompactWish(t *testing.T) {
	for keep, want := range map[string]string{"": "", " the\nlogs ": "the logs", "50% of a/b %2F": "50% of a/b %2F"} {
		w := CompactWish(keep)
		got, about := Compaction([]Wish{WishStop, w, WishCompact})
		if strings.ContainsAny(string(w), "/\n") || got != w || about != want {
			t.Errorf("%q became %q, and that %q, %q", keep, w, got, about)
		}
	}
	if w, _ := Compaction([]Wish{WishStop}); w != "" {
		t.Errorf("%q is a compaction", w)
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
