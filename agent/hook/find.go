package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Has reports whether an event may have hooks. It looks at Dir, at most once a second.
func (s *Set) Has(event string) bool {
	if time.Since(s.looked) > time.Second {
		s.looked, s.there = time.Now(), nil
		entries, _ := os.ReadDir(s.Dir) // what cannot be read is not there
		for _, e := range entries {
			s.there = append(s.there, e.Name())
		}
	}
	return slices.Contains(s.there, event)
}

// Check returns the hooks below a directory, as "call/guard", and a line for each file there that is ignored or cannot be
// started, with the reason.
func Check(dir string) (hooks, warnings []string) {
	s := Set{Dir: dir}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names, ignored := s.find(e.Name())
		if claude[e.Name()] == "" {
			why := filepath.Join(dir, e.Name()) + " is ignored: hooks belong into turn, call, result or reply"
			names, ignored = nil, []string{why}
		}
		hooks, warnings = append(hooks, names...), append(warnings, ignored...)
	}
	for _, name := range hooks {
		if err := startable(filepath.Join(dir, name)); err != nil {
			warnings = append(warnings, fmt.Sprintf("hook %s cannot be started: %v", name, err))
		}
	}
	return hooks, warnings
}

// startable returns the reason, told by its beginning, for which a program cannot be started.
func startable(path string) error {
	text, err := os.ReadFile(path)
	if interpreter := regexp.MustCompile(`^#! *(\S+)`).FindSubmatch(text); interpreter != nil {
		_, err = os.Stat(string(interpreter[1]))
	} else if err == nil && utf8.Valid(text) {
		err = errors.New("its first line is not #! and an interpreter, such as #!/bin/sh")
	}
	return err
}

// find returns the hooks of an event, as "call/guard" and in order, and what is ignored.
func (s *Set) find(event string) (names, ignored []string) {
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
	isBackup := strings.HasSuffix(e.Name(), "~")
	if err != nil || isBackup {
		return false
	}
	isProgram := fi.Mode()&(fs.ModeType|0o122) == 0o100
	return isProgram && int(fi.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}
