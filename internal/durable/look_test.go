package durable_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// What was changed in the same tick of the file system's clock as it was looked at is looked at again; what was left
// alone is not.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprint("name", i%2)) }
	lethetest.Must(t, os.WriteFile(name(0), nil, 0o600))
	for i := range 500 {
		was := durable.LookAt(dir)
		lethetest.Must(t, os.Rename(name(i), name(i+1)))
		if was.Same(durable.LookAt(dir)) {
			t.Fatalf("change %d is not seen", i)
		}
	}
	was := durable.Look{}
	lethetest.Eventually(t, "it is left alone", func() bool {
		last := was
		was = durable.LookAt(dir)
		return last.Same(was)
	})
	if gone := durable.LookAt(filepath.Join(dir, "gone")); gone.Same(gone) {
		t.Error("what is missing is not looked for again")
	}
}
