package home_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	homepkg "lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

func TestFill(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: ".", 7: ".......", 8: "[erased]", 10: "[erased..]"} {
		if got := string(homepkg.Fill(n)); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

// The example of the page is read, and written again as it is.
func TestPlanOfThePage(t *testing.T) {
	for _, text := range lethetest.Blocks(t, "erase.md", "plan") {
		var p homepkg.ErasePlan
		lethetest.Must(t, json.Unmarshal([]byte(text), &p))
		again, err := json.Marshal(p)
		lethetest.Must(t, err)
		if string(again)+"\n" != text && string(again) != text {
			t.Errorf("%s\nis written\n%s", text, again)
		}
	}
}

// A file that somebody has changed since is left alone, and so is what is not in the home.
func TestOtherFiles(t *testing.T) {
	home := t.TempDir()
	file := homepkg.ErasedFile{Path: "a.md", Cuts: [][2]int64{{3, 4}}}
	file.Sum = file.Mask([]byte("is 4711 or so"))
	p := &homepkg.ErasePlan{At: time.Now(), Files: []homepkg.ErasedFile{file, {Path: "gone.md", Cuts: file.Cuts, Sum: file.Sum}}}
	for text, want := range map[string]string{"is 4711 or more": "is .... or more", "it's 4711": "it's 4711", "is": "is"} {
		lethetest.Write(t, filepath.Join(home, "a.md"), text)
		missed, err := p.Apply(home, home)
		lethetest.Must(t, err)
		if got := lethetest.Read(t, filepath.Join(home, "a.md")); got != want || slices.Contains(missed, "a.md") != (got == text) {
			t.Errorf("%q is %q, missed %q", text, got, missed)
		}
	}
	p.Files = []homepkg.ErasedFile{{Path: "../b.md", Remove: true}}
	lethetest.Must(t, os.WriteFile(filepath.Join(home, "b.md"), nil, 0o600))
	if _, err := p.Apply(filepath.Join(home, "home"), home); err == nil {
		t.Error("a plan leads out of the home")
	}
	if _, err := homepkg.Tombstone(blobs.Hash{}.String(), p.At, []byte("no blob")); err == nil {
		t.Error("what is no blob gets a tombstone")
	}
}
