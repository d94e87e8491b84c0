package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// tree is what is in a directory, with modes, sizes and times.
func tree(t *testing.T, dir string) (all string) {
	t.Helper()
	lethetest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		fi, ferr := d.Info()
		if all += path; ferr == nil {
			all += fi.Mode().String() + fi.ModTime().String() + "\n"
		}
		return errors.Join(err, ferr)
	}))
	return all
}

// A home of format 1 gets this program's, which a disk that takes nothing does not hinder. One of a newer
// format, or of none that can be read, is refused, and nothing in it changes.
func TestHomeFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lethetest.Unpack(t, "testdata/november/home.tar.gz", dir)
	dir = filepath.Join(dir, "home")
	path := filepath.Join(dir, "format")
	if n, err := home.Format(dir); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	mended := lethetest.Break(t, path, func(durable.Stage, string, string) error { return syscall.EROFS })
	for i := range 3 { // it cannot be migrated, it is migrated, it is as it should be
		home, err := home.Open(dir)
		lethetest.Must(t, err)
		if all, err := home.List(); len(all) != 2 || err != nil {
			t.Errorf("%v, %v", all, err)
		}
		if i > 0 {
			lethetest.Holds(t, path, lethetest.Blocks(t, "formats.md", "format")[0])
		}
		mended()
	}
	lethetest.Must(t, os.Chmod(dir, 0o755))
	for text, want := range map[string]error{"lethe home 99\n": home.ErrNewer, "lethe home\n": home.ErrCorrupt,
		"": home.ErrCorrupt, "lethe home 0\n": home.ErrCorrupt, "lethe home 2": home.ErrCorrupt, "lethe home 2 3\n": home.ErrCorrupt} {
		lethetest.Write(t, path, text)
		before := tree(t, dir)
		if _, err := home.Open(dir); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
		equal(t, "the home", tree(t, dir), before)
	}
}
