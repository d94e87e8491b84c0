package life

import (
	"errors"
	"os"
	"strings"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// A line of LIFE.erased that is too long is damage: what stands behind it is not left out.
func TestLongLineOfErasures(t *testing.T) {
	path := t.TempDir() + "/LIFE.md"
	line := EncodeErasure(7, Erasure{Leaf("a"), Leaf("b")})
	lethetest.Must(t, os.WriteFile(ErasedPath(path), []byte(line+strings.Repeat("1", 70_000)+"\n"+line), 0o600))
	if all, err := ReadErased(path); !errors.As(err, new(*CorruptError)) {
		t.Errorf("%v, %v", all, err)
	}
}

// A line of which bytes were erased is read, forwards and backwards, as long as it is what LIFE.erased
// says; the line before and the one behind it are checked as ever.
func TestErasedLine(t *testing.T) {
	path := t.TempDir() + "/LIFE.md"
	l, err := Create(path)
	lethetest.Must(t, err)
	appendAll(t, l, numbered("say", 0, 3)...)
	lines := strings.SplitAfter(mustRead(t, path), "\n")
	at := int64(len(lines[0]))
	now := strings.Replace(lines[1], "line 1", "......", 1)
	lethetest.Must(t, durable.Patch(path, durable.Piece{At: at, Data: []byte(now)}))
	read := func() (forwards, backwards int) {
		_ = Scan(path, func(Event, int64) error { forwards++; return nil })
		_ = verified(strings.NewReader(mustRead(t, path)), l.Size(), path, func(Event, int64) bool { backwards++; return true })
		return
	}
	if f, b := read(); f != 1 || b != 1 {
		t.Errorf("%d and %d lines are read over one that was changed, want 1 and 1", f, b)
	}
	e := Erasure{Leaf(lines[1]), Leaf(now)}
	lethetest.Must(t, os.WriteFile(ErasedPath(path), []byte(EncodeErasure(at, e)), 0o600))
	if f, b := read(); f != 3 || b != 3 {
		t.Errorf("%d and %d lines are read over one that was erased, want 3 and 3", f, b)
	}
	if all, err := ReadErased(path); err != nil || all[at] != e {
		t.Errorf("%v, %v", all, err)
	}
	lethetest.Must(t, os.WriteFile(ErasedPath(path), []byte(EncodeErasure(at+1, e)), 0o600))
	if f, _ := read(); f != 1 {
		t.Error("the erasure of another line lets this one pass")
	}
}
