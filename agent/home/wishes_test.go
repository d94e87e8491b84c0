package home_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
)

// What a person says of a compaction comes out of the wish's name as it was put in.
func TestCompactWish(t *testing.T) {
	for keep, want := range map[string]string{"": "", " the\nlogs ": "the logs", "50% of a/b %2F": "50% of a/b %2F"} {
		w := home.CompactWish(keep)
		got, about := home.Compaction([]home.Wish{home.WishStop, w, home.WishCompact})
		if strings.ContainsAny(string(w), "/\n") || got != w || about != want {
			t.Errorf("%q became %q, and that %q, %q", keep, w, got, about)
		}
	}
	if w, _ := home.Compaction([]home.Wish{home.WishStop}); w != "" {
		t.Errorf("%q is a compaction", w)
	}
}

// Wishes come in the order in which they were left, whatever their names.
func TestWishesInOrder(t *testing.T) {
	id := home.Identity{Name: "ada", Dir: t.TempDir()}
	left := []home.Wish{home.WishLabel + "here", home.WishBack + "12", home.WishCompact}
	for i, w := range left {
		lethetest.Must(t, home.Ask(id, w))
		at := time.Unix(int64(1000+i), 0)
		lethetest.Must(t, os.Chtimes(w.Path(id), at, at))
	}
	if got := home.Wishes(id); !slices.Equal(got, left) {
		t.Errorf("%q, want %q", got, left)
	}
}
