package home

import (
	"os"
	"slices"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

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
