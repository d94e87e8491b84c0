package hook

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Has reports whether an event may have hooks. It looks for one directory.
func (s Set) Has(event string) bool {
	_, err := os.Lstat(filepath.Join(s.Dir, event))
	return err == nil
}

// Check says what in a directory of hooks is ignored, and why: a line each.
func Check(dir string) (warnings []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		_, ignored := Set{dir}.find(e.Name())
		if claude[e.Name()] == "" {
			ignored = []string{filepath.Join(dir, e.Name()) + " is ignored: hooks belong into turn, call, result or reply"}
		}
		warnings = append(warnings, ignored...)
	}
	return warnings
}

// find returns the hooks of an event, as "call/guard" and in order, and what is ignored.
func (s Set) find(event string) (names, ignored []string) {
	dir := filepath.Join(s.Dir, event)
	entries, err := os.ReadDir(dir)
	if err != nil && s.Has(event) {
		ignored = []string{err.Error()}
	}
	for _, e := range entries {
		if !trusted(e) {
			ignored = append(ignored, fmt.Sprintf("%s/%s is ignored: a hook is a regular file (no link, no copy of an editor) of yours "+
				"that others cannot write to: chmod 700", dir, e.Name()))
			continue
		}
		names = append(names, event+"/"+e.Name())
	}
	return names, ignored
}

// trusted reports whether a file is meant to be run, and the user's own alone.
func trusted(e fs.DirEntry) bool {
	fi, err := e.Info()
	return err == nil && fi.Mode()&(fs.ModeType|0o122) == 0o100 && !strings.HasSuffix(e.Name(), "~") &&
		int(fi.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}
