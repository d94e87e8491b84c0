package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

func size(fi fs.FileInfo) int64 {
	if fi == nil {
		return -1
	}
	return fi.Size()
}

func TestSwap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "view.md")
	for _, step := range []struct {
		name   string
		before string // "" leaves the file as it is
		data   string
		mine   func(fs.FileInfo) bool
		want   string
		done   bool
	}{
		{"none yet, not expected", "", "a", func(fi fs.FileInfo) bool { return fi != nil }, "", false},
		{"none yet", "", "a", func(fi fs.FileInfo) bool { return fi == nil }, "a", true},
		{"ours", "", "bb", func(fi fs.FileInfo) bool { return size(fi) == 1 }, "bb", true},
		{"another's", "their edit", "ccc", func(fi fs.FileInfo) bool { return size(fi) == 2 }, "their edit", false},
	} {
		if step.before != "" {
			must(t, os.WriteFile(path, []byte(step.before), 0o600))
		}
		fi, err := Swap(path, []byte(step.data), 0o600, step.mine)
		if err != nil || (fi != nil) != step.done {
			t.Fatalf("%s: %v, %v", step.name, fi, err)
		}
		got, _ := os.ReadFile(path)
		if string(got) != step.want {
			t.Errorf("%s: file holds %q, want %q", step.name, got, step.want)
		}
		if fi != nil {
			now, _ := os.Stat(path)
			if !os.SameFile(now, fi) {
				t.Errorf("%s: what was returned is not the new file", step.name)
			}
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d names are left in the directory", len(left))
	}
}

// A save between the look and the exchange is put back.
func TestSwapGivesBackWhatCameBetween(t *testing.T) {
	path := filepath.Join(t.TempDir(), "view.md")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	saved := false
	mine := func(fi fs.FileInfo) bool {
		ours := size(fi) == 3
		if !saved { // after the first look, somebody saves as editors do
			saved = true
			must(t, WriteFile(path, []byte("a person's edit"), 0o600))
		}
		return ours
	}
	fi, err := Swap(path, []byte("new"), 0o600, mine)
	got, _ := os.ReadFile(path)
	if err != nil || fi != nil || string(got) != "a person's edit" {
		t.Errorf("swap: %v, %v; the file holds %q", fi, err, got)
	}
}

// Whoever saves and whoever swaps at the same time: each save is seen by Swap as
// somebody else's, and none disappears before that.
func TestSwapLosesNoSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "view.md")
	must(t, os.WriteFile(path, nil, 0o600))
	const saves = 300
	last, _ := os.Stat(path)
	var wg sync.WaitGroup
	taken := make(chan struct{}, 1)
	wg.Go(func() {
		for i := range saves {
			if err := WriteFile(path, []byte("save "+strconv.Itoa(i)), 0o600); err != nil {
				t.Error(err)
			}
			<-taken
		}
	})
	for seen := 0; seen < saves; {
		fi, err := Swap(path, []byte("view"), 0o600, func(fi fs.FileInfo) bool { return fi != nil && os.SameFile(fi, last) })
		must(t, err)
		if fi != nil {
			last = fi
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != "save "+strconv.Itoa(seen) {
			t.Fatalf("save %d: the file holds %q, %v", seen, got, err)
		}
		last, _ = os.Stat(path)
		seen++
		taken <- struct{}{}
	}
	wg.Wait()
}
