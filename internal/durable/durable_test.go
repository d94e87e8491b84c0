package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errInjected = errors.New("injected")

// inject sets Fault for the length of a test.
func inject(t *testing.T, f func(stage Stage, op, path string) error) {
	t.Helper()
	Fault = f
	t.Cleanup(func() { Fault = nil })
}

// fail has an operation fail at a stage, until the test ends or sets Fault.
func fail(t *testing.T, at Stage, operation string) {
	inject(t, func(stage Stage, op, path string) error {
		if stage == at && op == operation {
			return errInjected
		}
		return nil
	})
}

// record notes the steps that do takes, as "op name, op name".
func record(t *testing.T, do func() error) string {
	t.Helper()
	var steps []string
	inject(t, func(stage Stage, op, path string) error {
		if stage == Before {
			steps = append(steps, op+" "+filepath.Base(path))
		}
		return nil
	})
	must(t, do())
	Fault = nil
	return strings.Join(steps, ", ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func noTemp(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v %v", left, err)
	}
}

func anyFile(fs.FileInfo) bool { return true }

// The order of the steps is the promise: no test can cut the power.
func TestOrderOfSteps(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o700))
	file := filepath.Join(root, "f")
	appends := func(path string) error { _, _, err := Append(path, []byte("y\n"), 0o600); return err }
	cases := []struct {
		name string
		do   func() error
		want string
	}{
		{"write", func() error { return WriteFile(file, []byte("x\n"), 0o600) },
			"write f, sync f, rename f, syncdir root"},
		{"append", func() error { return appends(file) },
			"append f, sync f, syncdir root"},
		{"create", func() error { return Create(file+"1", []byte("x"), 0o600) },
			"write f1, sync f1, link f1, syncdir root"},
		{"sync", func() error { return Sync(file) }, "sync f, syncdir root"},
		{"mkdir", func() error { return MkdirAll(filepath.Join(root, "a", "b"), 0o700) },
			"syncdir " + filepath.Base(filepath.Dir(root)) + ", mkdir a, syncdir root, mkdir b, syncdir a"},
		{"mkdir again", func() error { return MkdirAll(filepath.Join(root, "a", "b"), 0o700) },
			"syncdir a"},
		{"symlink", func() error { return Symlink("f", filepath.Join(root, "l")) },
			"symlink l, syncdir root"},
		{"append through a link", func() error {
			link := filepath.Join(root, "a", "link")
			must(t, os.Symlink(file, link))
			return appends(link)
		}, "append f, sync f"}, // the name is durable since the first time
		{"append to a file begun anew", func() error {
			must(t, os.WriteFile(file, nil, 0o600))
			return appends(file)
		}, "append f, sync f, syncdir root"},
		{"append to another file", func() error {
			must(t, os.WriteFile(file+"2", []byte("much longer than it was\n"), 0o600))
			must(t, os.Rename(file+"2", file))
			return appends(file)
		}, "append f, sync f, syncdir root"},
		{"swap", func() error { _, err := Swap(file, nil, 0o600, anyFile); return err }, "write f, sync f"},
		{"swap a view", func() error { _, err := SwapView(file, nil, 0o600, anyFile); return err }, "write f"},
		{"remove", func() error { return Remove(file) }, "remove f, syncdir root"},
	}
	for _, c := range cases {
		if got := record(t, c.do); got != c.want {
			t.Errorf("%s: steps %q, want %q", c.name, got, c.want)
		}
	}
}

// Each step fails once and is lost, once and has happened all the same: a reader
// finds the old file or the new one, whole, and a second try succeeds.
func TestWriteFileFaults(t *testing.T) {
	for _, stage := range []Stage{Before, After} {
		for _, op := range []string{"write", "sync", "rename", "syncdir"} {
			t.Run(fmt.Sprintf("%s %s", stage, op), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "f")
				must(t, WriteFile(path, []byte("old"), 0o600))
				fail(t, stage, op)
				if err := WriteFile(path, []byte("new, longer"), 0o600); !errors.Is(err, errInjected) {
					t.Fatalf("error %v, want the injected one", err)
				}
				want := "old"
				if op == "syncdir" || op == "rename" && stage == After {
					want = "new, longer"
				}
				if got := mustRead(t, path); got != want {
					t.Errorf("file holds %q, want %q", got, want)
				}
				noTemp(t, dir)
				Fault = nil
				must(t, WriteFile(path, []byte("new, longer"), 0o640))
				if got := mustRead(t, path); got != "new, longer" {
					t.Errorf("after a second try the file holds %q", got)
				}
				if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o640 {
					t.Errorf("mode %v %v, want 0640", fi.Mode(), err)
				}
			})
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "view")
	for _, data := range []string{"first", "2nd", ""} {
		must(t, Replace(path, []byte(data), 0o640))
		fi, err := os.Stat(path)
		if got := mustRead(t, path); got != data || err != nil || fi.Mode().Perm() != 0o640 {
			t.Errorf("file holds %q, mode %v, %v", got, fi.Mode(), err)
		}
	}
	// A directory cannot be replaced by a file: nothing is left of the attempt.
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	if err := Replace(filepath.Join(dir, "d"), nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if err := WriteFile(filepath.Join(dir, "d"), nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	noTemp(t, dir)
}

func TestSecondTimeIsNoError(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := errors.Join(
			MkdirAll(filepath.Join(dir, "d"), 0o700),
			Symlink("d", filepath.Join(dir, "l")),
			Remove(filepath.Join(dir, "gone")),
		); err != nil {
			t.Error(err)
		}
	}
	if err := Symlink("elsewhere", filepath.Join(dir, "l")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link that leads elsewhere is taken for the one asked for: %v", err)
	}
}

// A directory whose making was reported as failed is synced by the next call,
// which finds it there.
func TestMkdirAllAfterFault(t *testing.T) {
	for _, op := range []string{"mkdir", "syncdir"} {
		dir := filepath.Join(t.TempDir(), "d")
		inject(t, func(stage Stage, o, path string) error {
			if o == op && isDir(dir) {
				return errInjected
			}
			return nil
		})
		if err := MkdirAll(dir, 0o700); !errors.Is(err, errInjected) {
			t.Fatalf("%s: error %v, want the injected one", op, err)
		}
		steps := record(t, func() error { return MkdirAll(dir, 0o700) })
		if want := "syncdir " + filepath.Base(filepath.Dir(dir)); steps != want {
			t.Errorf("%s: the second try takes %q, want %q", op, steps, want)
		}
	}
}

// Permissions are restored by the path in an error.
func TestErrorsHaveWholePaths(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	must(t, os.Mkdir(gone, 0o700))
	dir, err := os.OpenRoot(gone)
	must(t, err)
	defer dir.Close()
	must(t, os.Remove(gone))
	_, err = SwapIn(dir, "f", nil, 0o600, func(fs.FileInfo, string) bool { return true })
	if at, ok := errors.AsType[*fs.PathError](err); !ok || filepath.Dir(at.Path) != gone {
		t.Errorf("the error of a file in %s is %v", gone, err)
	}
}
