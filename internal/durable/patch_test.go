package durable_test

import (
	"lethe/internal/durable"
	"os"
	"testing"
)

// Patch changes the bytes that it is given and no others, also of a file that nobody may write.
func TestPatch(t *testing.T) {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, []byte("one two three"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := durable.Patch(path, durable.Piece{4, []byte("...")}, durable.Piece{0, []byte("1")}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "1ne ... three" {
		t.Errorf("%q", got)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o400 {
		t.Errorf("the mode is %v", fi.Mode())
	}
	for _, p := range []durable.Piece{{-1, []byte("x")}, {11, []byte("xyz")}} {
		if err := durable.Patch(path, p); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}
