package skills

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"lethe/agent/tools/catalogue"
	"lethe/internal/durable"
)

// Rules is the kind of a file with rules for agents who work in its directory. It is no item of a catalogue.
const Rules catalogue.Kind = "rules"

// RuleFile returns the name of a directory's file with rules for agents, or "".
func RuleFile(dir string) string {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// ReadRules returns the first 256 KB of a file of a directory, which may be a link to another one in there, without
// white space at the ends. What is no file, such as a pipe, or cannot be read, is empty.
func ReadRules(dir, name string) []byte {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	if fi, err := file.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(file, maxText))
	return bytes.TrimSpace(text)
}

// Allowed reports whether people allowed a text as the rules of a directory, in the file of that name. An empty one
// needs no leave.
func Allowed(home, dir, name string, text []byte) bool {
	return len(text) == 0 || notAllowed(home, filepath.Join(real(dir), name), listed(name, text)) == nil
}

// notAllowed returns why people have not allowed what lies at a path of a workspace, or nil.
func notAllowed(home, path, now string) error {
	was, err := durable.ReadWhole(kept(home, path), maxKept)
	if err != nil {
		return errors.New("not allowed")
	}
	if string(was) != now {
		return errors.New("not allowed: it has changed since it was")
	}
	return nil
}

// rules returns the entry for the rules of a workspace, if it has some.
func (s *Shelf) rules(p place) []Entry {
	name := RuleFile(p.root)
	text := ReadRules(p.root, name)
	if len(text) == 0 {
		return nil
	}
	e := Entry{place: p, Name: name, Path: filepath.Join(p.root, name)}
	if err := notAllowed(s.home, e.Path, listed(name, text)); err != nil {
		e.Waits, e.Why = true, err.Error()
	}
	return []Entry{e}
}
