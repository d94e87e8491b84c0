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
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"lethe/internal/durable"
)

// seen has the hooks that this process found in order: what os.Lstat told then, by path.
var seen sync.Map

// Has reports whether an event may have hooks. It looks at Dir, at most once a second.
func (s *Set) Has(event string) bool {
	if time.Since(s.looked) > time.Second {
		s.looked, s.there = time.Now(), nil
		entries, _ := os.ReadDir(s.Dir) // what cannot be read is not there
		for _, e := range entries {
			s.there = append(s.there, e.Name())
			if claude[e.Name()] != "" {
				s.find(e.Name()) // before a command can change modes
			}
		}
	}
	return slices.Contains(s.there, event) || len(s.saw(event)) > 0
}

// saw returns the hooks that have been in order, as "call/guard": for a call all, else the event's.
func (s *Set) saw(event string) (names []string) {
	seen.Range(func(path, _ any) bool {
		name, isOurs := strings.CutPrefix(path.(string), s.Dir+"/")
		isNeeded := event == Call || strings.HasPrefix(name, event+"/")
		if isOurs && isNeeded {
			names = append(names, name)
		}
		return true
	})
	slices.Sort(names)
	return names
}

// turnedOff returns the hooks that an event needs and that are out of order since. It first restores their modes: any
// command can change these, and nothing else of a hook.
func (s *Set) turnedOff(event string, a *Answer) (names []string) {
	for _, name := range s.saw(event) {
		path := filepath.Join(s.Dir, name)
		now, err := os.Lstat(path)
		if err == nil && trusted(now) {
			continue
		}
		was, _ := seen.Load(path)
		isSame := err == nil && durable.Unchanged(was.(fs.FileInfo), now)
		if isSame && os.Chmod(path, 0o700) == nil {
			a.Warnings = append(a.Warnings, fmt.Sprintf("hook %s had %#o; its mode was restored", name, now.Mode().Perm()))
			continue
		}
		names = append(names, name)
	}
	return names
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ignored = []string{err.Error()}
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || !trusted(fi) {
			ignored = append(ignored, fmt.Sprintf("%s/%s is ignored: a hook is a regular file (no link, no copy of an editor) of yours "+
				"that others cannot write to: chmod 700", dir, e.Name()))
			continue
		}
		names = append(names, event+"/"+e.Name())
		seen.Store(filepath.Join(dir, e.Name()), fi)
	}
	return names, ignored
}

// trusted reports whether a file is meant to be run, and the user's own alone.
func trusted(fi fs.FileInfo) bool {
	isBackup := strings.HasSuffix(fi.Name(), "~")
	isProgram := fi.Mode()&(fs.ModeType|0o122) == 0o100
	if isBackup || !isProgram {
		return false
	}
	return int(fi.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}
