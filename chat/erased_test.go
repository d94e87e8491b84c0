package chat

import (
	"strings"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// Every reader of a room goes on where it was when bytes were erased there, and again, whichever
// line it had heard last.
func TestErase(t *testing.T) {
	lines := []string{"[USER:ada 2026-11-20T12:57:16Z] hello\n", "[USER:ada 2026-11-20T12:57:17Z] my password is swordfish\n",
		"[USER:bob 2026-11-20T12:57:18Z] do not say swordfish\n", strings.Repeat("x", 5000) + "\n", "bye\n"}
	all := strings.Join(lines, "")
	path := room(t, all)
	whole := readAll(t, path, Cursor{})
	var readers []Cursor
	for n := range len(lines) + 1 {
		readers = append(readers, whole.After(n))
	}
	erase := func(word, filler string) {
		var pieces []durable.Piece
		for at := 0; ; {
			i := strings.Index(all[at:], word)
			if i < 0 {
				break
			}
			at += i + len(word)
			pieces = append(pieces, durable.Piece{At: int64(at - len(word)), Data: []byte(filler)})
		}
		for range 2 { // a crash can have it done again
			lethetest.Must(t, Erase(path, pieces...))
		}
		all = strings.ReplaceAll(all, word, filler)
		if got := lethetest.Read(t, path); got != all {
			t.Fatalf("the room is %q", got)
		}
	}
	check := func() {
		t.Helper()
		for n, c := range readers {
			b := readAll(t, path, c)
			if want := len(lines) - n; len(b.Lines) != want || b.Realigned || b.Restarted {
				t.Errorf("who had heard %d lines hears %d more, want %d: %+v", n, len(b.Lines), want, b)
			}
		}
	}
	erase("swordfish", "[erased.]")
	check()
	erase("password", "[erased]")
	check()
	lethetest.Must(t, Erase(path))
	echo(t, path, "one more\n")
	lines = append(lines, "one more\n")
	check()
}
