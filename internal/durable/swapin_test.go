package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// opened opens a new directory with a file in it.
func opened(t *testing.T, text string) (dir *os.Root, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	dir, err := os.OpenRoot(filepath.Dir(path))
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	return dir, path
}

// holds returns a function that knows a text; none knows that there is no file.
func holds(dir *os.Root, text string) func(fs.FileInfo, string) bool {
	return func(fi fs.FileInfo, name string) bool {
		if text == none || fi == nil {
			return text == none && fi == nil
		}
		there, err := dir.ReadFile(name)
		return err == nil && fi.Mode().IsRegular() && string(there) == text
	}
}

const none = "(no file)"

func TestSwapIn(t *testing.T) {
	dir, path := opened(t, "old")
	for _, step := range []struct {
		name, what, mine string
		want             bool
	}{
		{"f", "no file is expected", none, false},
		{"f", "another's", "other", false},
		{"f", "as it was", "old", true},
		{"none", "a file is expected", "", false},
		{"none", "a new file", none, true},
	} {
		was, _ := os.ReadFile(filepath.Join(filepath.Dir(path), step.name))
		done, err := SwapIn(dir, step.name, []byte("new"), 0o640, holds(dir, step.mine))
		if err != nil || done != step.want {
			t.Errorf("%s: %v, %v", step.what, done, err)
		}
		want := string(was)
		if step.want {
			want = "new"
		}
		if now, _ := os.ReadFile(filepath.Join(filepath.Dir(path), step.name)); string(now) != want {
			t.Errorf("%s: the file holds %q, want %q", step.what, now, want)
		}
		noTemp(t, filepath.Dir(path))
	}
	must(t, os.Remove(path))
	must(t, os.Symlink("none", path))
	if done, err := SwapIn(dir, "f", nil, 0o600, holds(dir, "new")); done || err != nil {
		t.Errorf("a link in the place of the file: %v, %v", done, err)
	}
	steps := record(t, func() error { _, err := SwapIn(dir, "none", nil, 0o600, holds(dir, "new")); return err })
	if steps != "write none, sync none, syncdir "+filepath.Base(filepath.Dir(path)) {
		t.Errorf("steps %q", steps)
	}
}

// Each step fails once, before or after it has happened: the file is the old one or the new one, and a second try ends.
func TestSwapInFaults(t *testing.T) {
	for _, stage := range []Stage{Before, After} {
		for _, op := range []string{"write", "sync", "syncdir"} {
			t.Run(fmt.Sprintf("%s %s", stage, op), func(t *testing.T) {
				dir, path := opened(t, "old")
				fail(t, stage, op)
				if _, err := SwapIn(dir, "f", []byte("new"), 0o600, holds(dir, "old")); !errors.Is(err, errInjected) {
					t.Fatalf("error %v, want the injected one", err)
				}
				want := "old"
				if op == "syncdir" {
					want = "new"
				}
				if got := mustRead(t, path); got != want {
					t.Errorf("file holds %q, want %q", got, want)
				}
				noTemp(t, filepath.Dir(path))
				Fault = nil
				done, err := SwapIn(dir, "f", []byte("newer"), 0o600, holds(dir, want))
				if err != nil || !done || mustRead(t, path) != "newer" {
					t.Errorf("a second try: %v, %v", done, err)
				}
			})
		}
	}
}

// What others save while a file is exchanged stays: the save that was displaced is put back, and one that came between
// takes its place. A copy of what was displaced lies beside.
func TestSwapInGivesBack(t *testing.T) {
	for _, saves := range []int{2, 3, 4} { // looks at the file before each of which somebody saves
		dir, path := opened(t, "old")
		looks, last := 0, ""
		mine := func(fi fs.FileInfo, name string) bool {
			is := holds(dir, "old")(fi, name)
			if looks++; looks < saves {
				last = fmt.Sprint("save ", looks)
				must(t, WriteFile(path, []byte(last), 0o600))
			}
			return is
		}
		done, err := SwapIn(dir, "f", []byte("new"), 0o600, mine)
		if got := mustRead(t, path); done || got != last {
			t.Errorf("%d: %v; the file holds %q, want %q", saves, done, got, last)
		}
		beside, ok := errors.AsType[Conflict](err)
		if !ok || mustRead(t, filepath.Join(filepath.Dir(path), beside.Copy)) != "save 1" {
			t.Errorf("%d: %v; its copy is not what was displaced", saves, err)
		}
		noTemp(t, filepath.Dir(path))
	}
}

// What somebody makes of the new file, before it is taken back, is not lost, and what had been displaced isn't, either.
func TestSwapInOverAReader(t *testing.T) {
	edits := map[string]func(path, text string){
		"in place":   func(path, text string) { must(t, os.WriteFile(path, []byte(text), 0o600)) },
		"by rename":  func(path, text string) { must(t, WriteFile(path, []byte(text), 0o600)) },
		"as we do":   func(path, text string) { swapped(t, path, text) },
		"not at all": func(string, string) {},
	}
	for how, edit := range edits {
		for _, text := range []string{"new and an edit", "NEW"} {
			dir, path := opened(t, "old")
			looks := 0
			mine := func(fi fs.FileInfo, name string) bool {
				is := holds(dir, "old")(fi, name)
				switch looks++; looks {
				case 1:
					must(t, WriteFile(path, []byte("a save"), 0o600))
				case 2:
					edit(path, text)
				}
				return is
			}
			want := text
			if how == "not at all" {
				want = "a save"
			}
			_, err := SwapIn(dir, "f", []byte("new"), 0o600, mine)
			beside, _ := errors.AsType[Conflict](err)
			if got := mustRead(t, path); got != want {
				t.Errorf("%s: the file holds %q, want %q", how, got, want)
			}
			if got := mustRead(t, filepath.Join(filepath.Dir(path), beside.Copy)); got != "a save" {
				t.Errorf("%s: the copy holds %q", how, got)
			}
			noTemp(t, filepath.Dir(path))
		}
	}
}

// swapped replaces a file by Swap, whatever it holds.
func swapped(t *testing.T, path, text string) {
	t.Helper()
	if _, err := Swap(path, []byte(text), 0o600, func(fs.FileInfo) bool { return true }); err != nil {
		t.Fatal(err)
	}
}
