package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/internal/durable"
)

// foreign are directories with files that are not Lethe's, or no longer.
var foreign = []string{"workspace", "sandbox", "gate", "jobs", lostFound}

// peoples are directories of the home where people keep their own files, of any form and mode.
var peoples = []string{"bin", "hooks", "prompts", "roles", "skills"}

// temporary are in the names of files that a crash or an editor leaves behind.
var temporary = []string{".tmp-", ".torn-", ".kept-"}

// young is the age below which a file may still be being written: it is passed over.
const young = time.Minute

// valid reports whether a file holds what files of its name do.
func valid(name string, data []byte) bool {
	switch filepath.Ext(name) {
	case ".json":
		return json.Valid(data)
	case ".jsonl":
		for line := range bytes.Lines(data) { // the last line may be cut off
			if bytes.HasSuffix(line, []byte("\n")) && !json.Valid(line) {
				return false
			}
		}
	}
	return true
}

// files checks the files in a directory of the home and below: their modes and forms, and whether anything needs them.
func (c *checker) files(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inBlobs := strings.HasPrefix(path, c.home.Blobs()+"/")
		isBlob := entry.IsDir() || len(entry.Name()) == 61 // checked against its name
		if inBlobs && isBlob {
			return nil
		}
		ofServer := filepath.Dir(path) == filepath.Join(c.home.Dir, "mcp")
		isForeign := ofServer || slices.Contains(foreign, entry.Name())
		if entry.IsDir() && isForeign {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return nil
		}
		below, _ := filepath.Rel(c.home.Dir, path)
		top, _, _ := strings.Cut(below, "/")
		own := slices.Contains(peoples, top)
		c.mode(path, info, own)
		if own || entry.IsDir() {
			return nil
		}
		if time.Since(info.ModTime()) >= young {
			c.file(path, info, inBlobs)
		}
		return nil
	})
}

// file checks one file; left: nothing needs it.
func (c *checker) file(path string, info fs.FileInfo, left bool) {
	name, aside := info.Name(), func() error { return c.aside(path) }
	if left || slices.ContainsFunc(temporary, func(part string) bool { return strings.Contains(name, part) }) {
		c.find("stray file", path, fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().Format(time.DateTime)), aside)
		return
	}
	data, _, err := durable.ReadRegular(path, 1<<28)
	if err == nil && !valid(name, data) {
		c.find("damaged file", path, "it is not what such a file holds", aside)
	}
}

// mode checks that directories and the key are closed to others: nobody else reaches a file in a closed directory.
// People's own files keep their modes, but others may not change them.
func (c *checker) mode(path string, fi fs.FileInfo, own bool) {
	has, kind := fi.Mode().Perm(), "wrong mode"
	want, isRight := has, true
	switch {
	case own:
		want = has &^ 0o022
		isRight = has == want
	case path == filepath.Join(c.home.Dir, "key"):
		want, kind = 0o600, "open key"
		isRight = closed(has, want)
	case fi.IsDir():
		want = 0o700
		isRight = closed(has, want)
	}
	if isRight {
		return
	}
	c.find(kind, path, fmt.Sprintf("it is %#o, not %#o", has, want), func() error {
		err := os.Chmod(path, want)
		if errors.Is(err, fs.ErrNotExist) { // it was damaged, and moved meanwhile
			return nil
		}
		return err
	})
}

// closed reports whether a mode keeps others out, and lets the owner do all that needed lets.
func closed(mode, needed fs.FileMode) bool { return mode&0o077 == 0 && mode&needed == needed }

// beside checks the files beside a log.
func (f *folder) beside() {
	_, running := home.Running(f.id)
	if f.v.Torn > 0 && !running {
		what := fmt.Sprintf("%d bytes follow this line", f.v.Torn)
		f.find("torn end", f.where(), what, func() error { return f.recordLost(nil) })
	}
	if f.id.Mirrored() { // a host that takes it makes the rest
		return
	}
	f.soul()
	link, target := filepath.Join(f.home.Names(), f.id.Name), filepath.Join("..", "agents", f.id.Self)
	if to, _ := os.Readlink(link); to != target {
		f.find("no name", link, "it does not lead to "+target, func() error { return durable.Symlink(target, link) })
	}
}

func (f *folder) soul() {
	path := filepath.Join(f.id.Dir, "SOUL.md")
	soul, _, _ := durable.ReadRegular(path, 1<<28)
	boot, err := f.store.Find(f.id.Self)
	if err != nil || bytes.Equal(soul, boot.Body) {
		return
	}
	f.find("wrong SOUL", path, "it is not the soul that the identity was booted with", func() error {
		if err := f.aside(path); err != nil {
			return err
		}
		return f.id.RestoreSoul(f.store)
	})
}
