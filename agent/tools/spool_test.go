//go:build unix

package tools

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
)

// However output arrives, the result is its beginning and its end, and the file
// is all of it.
func TestSpoolKeepsHeadTailAndAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "all")
	rapid.Check(t, func(rt *rapid.T) {
		bound := rapid.Int64Range(2, 300).Draw(rt, "bound")
		_ = os.Remove(path)
		s := &spool{bound: bound, name: "all", keep: func() (*os.File, error) { return os.Create(path) }}
		var all []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 400), 0, 12).Draw(rt, "sizes") {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(len(all) + i)
			}
			all = append(all, b...)
			if k, err := s.Write(b); k != n || err != nil {
				rt.Fatalf("write %d: %d, %v", n, k, err)
			}
		}
		s.close("")
		body := s.result()
		if int64(len(all)) <= bound {
			if !bytes.Equal(body, all) {
				rt.Fatalf("short output changed")
			}
			if _, err := os.Stat(path); err == nil {
				rt.Fatalf("short output kept in a file")
			}
			return
		}
		half := bound / 2
		if !bytes.HasPrefix(body, all[:half]) || !bytes.HasSuffix(body, all[int64(len(all))-half:]) {
			rt.Fatalf("head or tail is wrong")
		}
		if want := fmt.Sprintf("\n[… %d bytes", int64(len(all))-2*half); !bytes.Contains(body, []byte(want)) {
			rt.Fatalf("of %d bytes: %q", len(all), body)
		}
		if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, all) {
			rt.Fatalf("file has %d of %d bytes, %v", len(kept), len(all), err)
		}
	})
}

func TestSpoolSurvivesAFullDisk(t *testing.T) {
	s := &spool{bound: 10, name: "all", keep: func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }}
	for range 10 {
		if _, err := s.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	s.close("")
	body := s.result()
	lethetest.Words(t, string(body), "01234\n[… 90 bytes", "could not be kept", "no space left", "\n56789")
}

func TestOldOutputsMakeRoom(t *testing.T) {
	id := newIdentity(t, nil)
	now := time.Now()
	for i, name := range []string{"old", "middle", "new"} {
		path := id.file(".output/"+name+".txt", "x")
		if err := os.Truncate(path, maxSpools/3); err != nil { // sparse
			t.Fatal(err)
		}
		lethetest.Must(t, os.Chtimes(path, now, now.Add(time.Duration(i-10)*time.Hour)))
	}
	id.ok("BASH", "command", "seq 10000000")
	left, err := filepath.Glob(filepath.Join(id.work, ".output/*"))
	lethetest.Must(t, err)
	var names []string
	for _, l := range left {
		names = append(names, filepath.Base(l))
	}
	if got := strings.Join(names, " "); got != "e12.1.txt middle.txt new.txt" {
		t.Errorf("left: %s", got)
	}
}
