// Package skills finds what people wrote for agents: texts that tell how to do something, which are directories with a
// SKILL.md by the Agent Skills specification, programs that say what they do, and rules of workspaces.
//
//	shelf := skills.New(home, user, workspaces, roots, true)
//	config.Others = append(config.Others, shelf) // a catalogue.Source
//
// What lies in a home counts. What lies in a workspace, where identities and strangers may write, counts after people
// have allowed it, as long as not a byte of it changes; until then no program of it is run.
package skills

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"lethe/agent/tools/catalogue"
	"lethe/internal/durable"
	"lethe/internal/pattern"
	"lethe/internal/sandbox"
)

// What a skill may be.
const (
	maxText    = 256 << 10 // bytes of a SKILL.md
	maxEntries = 1000      // in a directory of skills or programs
	maxFiles   = 1000      // files of a skill
	maxBytes   = 64 << 20  // of all files of a skill, or of a program
	maxListed  = 50        // files that its text names

	maxKept = 4 * maxBytes // of what people allowed

	lookEvery = time.Second
	settles   = 2*time.Second + durable.ClockStep // after it, another change gives a file another time
)

// Entry is a skill or a program. It is offered if Why is "".
type Entry struct {
	place
	Name  string `json:"name"`
	Path  string `json:"path"`
	Waits bool   `json:"waits,omitempty"` // nothing is wrong but that people have not allowed it as it is
	Why   string `json:"why,omitempty"`
	// Faults are what is wrong. Skills are held against the specification, which asks for more than what is offered here.
	Faults []string `json:"faults,omitempty"`

	stamp string            // changes when one of its files does
	head  map[string]string // of a skill
	item  catalogue.Item
}

// place is a directory with entries.
type place struct {
	Kind catalogue.Kind `json:"kind"`
	root string         // links out of it lead nowhere
	dir  string         // below root
	own  bool           // identities do not write there
}

// Shelf holds the skills and programs of an identity. It is a catalogue.Source; of two with one name the first counts.
type Shelf struct {
	Dirs []string               // that tools have to read
	Tell func(waiting []string) // gets the names of entries that wait to be allowed, when they change; may be nil

	home   string
	places []place
	mu     sync.Mutex
	looked time.Time
	told   []string
	all    []Entry
}

// New returns the skills and programs of a home, of a user, "" for none, and of workspaces. Those of the home and the
// user count only where an identity cannot write, which it can in workspaces and roots. programs says whether it can
// run any. New reads none yet.
func New(home, user string, workspaces, roots []string, programs bool) *Shelf {
	s := &Shelf{home: home}
	for _, p := range []place{
		{catalogue.Skill, filepath.Join(home, "skills"), ".", true},
		{catalogue.Skill, filepath.Join(user, ".agents/skills"), ".", true},
		{catalogue.Program, filepath.Join(home, "bin"), ".", true},
	} {
		if !filepath.IsAbs(p.root) { // there is no such user
			continue
		}
		p.root = real(p.root)
		writable := func(root string) bool { return root != "" && sandbox.Within(p.root, real(root)) }
		if !slices.ContainsFunc(slices.Concat(workspaces, roots), writable) {
			s.Dirs = append(s.Dirs, p.root)
			s.places = append(s.places, p)
		}
	}
	for _, w := range workspaces {
		for _, dir := range []string{".agents/skills", ".claude/skills"} {
			s.places = append(s.places, place{catalogue.Skill, real(w), dir, false})
		}
		s.places = append(s.places, place{catalogue.Program, real(w), "bin", false}, place{Rules, real(w), ".", false})
	}
	s.places = slices.DeleteFunc(s.places, func(p place) bool { return p.Kind == catalogue.Program && !programs })
	return s
}

// real is the path of a directory, without links if it is there.
func real(dir string) string {
	dir, _ = filepath.Abs(dir) // else there is no working directory
	found, _ := filepath.EvalSymlinks(dir)
	return cmp.Or(found, dir)
}

// All returns all that there is, also what is not offered. It looks at most once a second, and reads what has changed.
func (s *Shelf) All() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.looked) < lookEvery {
		return s.all
	}
	before, waiting := s.all, []string(nil)
	s.all, s.looked = []Entry{}, time.Now()
	for _, p := range s.places {
		if p.Kind == Rules {
			s.all = append(s.all, s.rules(p)...)
		} else {
			s.all = append(s.all, s.look(p, before)...)
		}
	}
	for _, e := range s.all {
		if e.Waits {
			waiting = append(waiting, e.Name)
		}
	}
	isNews := len(waiting) > 0 && !slices.Equal(s.told, waiting)
	if isNews && s.Tell != nil {
		s.Tell(waiting)
	}
	s.told = waiting
	return s.all
}

// tree is a directory of a root, whose files are opened without waiting for anybody, such as the writer of a pipe.
type tree struct {
	root *os.Root
	dir  string
}

func (t tree) Open(name string) (fs.File, error) {
	return t.root.OpenFile(path.Join(t.dir, name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// entries lists the directory, in order.
func (t tree) entries() ([]fs.DirEntry, error) {
	f, err := t.Open(".")
	if err != nil {
		return nil, nil // what cannot be read is not there
	}
	defer f.Close()
	entries, _ := f.(fs.ReadDirFile).ReadDir(maxEntries + 1) // as many as can be read
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("it has more than %d entries, and none is read", maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// mayHold reports whether a file may be an entry of the place: a skill is no regular file, and a program can be run.
func (p place) mayHold(d fs.DirEntry) bool {
	if p.Kind == catalogue.Skill {
		return !d.Type().IsRegular()
	}
	fi, err := d.Info()
	if err != nil || d.IsDir() {
		return false
	}
	return fi.Mode()&0o111 != 0
}

// look returns the entries of a place. It does not read an entry that has the same stamp as before.
func (s *Shelf) look(p place, before []Entry) (all []Entry) {
	if _, err := os.Stat(filepath.Join(p.root, p.dir)); err != nil {
		return nil // what cannot be read is not there
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil
	}
	defer root.Close()
	t := tree{root, p.dir}
	entries, err := t.entries()
	if err != nil {
		at := filepath.Join(p.root, p.dir)
		return []Entry{{place: p, Name: filepath.Base(at), Path: at, Why: err.Error(), Faults: []string{err.Error()}}}
	}
	for _, d := range entries {
		if d.Name()[0] == '.' || !p.mayHold(d) {
			continue
		}
		e := Entry{place: p, Name: d.Name(), Path: filepath.Join(p.root, p.dir, d.Name())}
		files, err := s.files(t, &e)
		known := slices.IndexFunc(before, func(b Entry) bool { return b.Path == e.Path && b.stamp == e.stamp })
		if err == nil && known >= 0 {
			all = append(all, before[known])
			continue
		}
		if err == nil {
			err = s.read(t, &e, files)
		}
		if err != nil {
			e.Why = err.Error()
		}
		e.Faults = e.faults()
		all = append(all, e)
	}
	return all
}

var validName = pattern.Lazy(`^[a-z0-9-][a-z0-9._-]{0,63}$`)

// files returns the files of an entry, and sets its stamp. There is nothing else than files and directories.
func (s *Shelf) files(t tree, e *Entry) (files []string, err error) {
	if !validName().MatchString(e.Name) {
		return nil, errors.New("its name is not up to 64 of a-z, 0-9, hyphens, dots and _")
	}
	var stamp strings.Builder
	var newest time.Time
	size := int64(0)
	add := func(name string, fi fs.FileInfo) {
		changed := durable.Changed(fi)
		fmt.Fprintln(&stamp, name, fi.Mode(), fi.Size(), fi.ModTime().UnixNano(), changed.UnixNano())
		if size += fi.Size(); changed.After(newest) {
			newest = changed
		}
	}
	err = fs.WalkDir(t, e.Name, func(name string, _ fs.DirEntry, err error) error {
		fi, missing := t.root.Lstat(path.Join(t.dir, name))
		switch {
		case missing != nil:
			return missing
		case !fi.IsDir() && !fi.Mode().IsRegular() || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("%q is no regular file (a link is none)", name)
		case err != nil:
			return err
		case !fi.IsDir():
			files = append(files, name)
		}
		if add(name, fi); len(files) > maxFiles || size > maxBytes {
			return fmt.Errorf("it has more than %d files, or than %d MB", maxFiles, maxBytes>>20)
		}
		return nil
	})
	if fi, err := os.Stat(kept(s.home, e.Path)); err == nil {
		add("", fi)
	}
	if now := time.Now(); now.Sub(newest) < settles { // its next change may leave the same times
		fmt.Fprint(&stamp, now)
	}
	e.stamp = stamp.String()
	return files, err
}

// read reads an entry, and says why it is not offered. Of one of a workspace of which nothing was allowed it reads the
// SKILL.md alone.
func (s *Shelf) read(t tree, e *Entry, files []string) error {
	_, missing := os.Stat(kept(s.home, e.Path))
	if !e.own && missing != nil { // its files may be any number and as long as they like, and no more is used of them
		files = slices.DeleteFunc(files, func(name string) bool { return name != e.Name+"/SKILL.md" })
	}
	all, text, err := take(t, e, files)
	if err != nil {
		return err
	}
	e.item = catalogue.Item{Kind: e.Kind, Name: e.Name, Text: "BASH runs it: " + e.Path + "\n", Own: e.own}
	if e.Kind == catalogue.Skill {
		if e.head, err = front(text); err == nil && e.head["description"] == "" {
			err = errors.New("SKILL.md has no description, so nobody knows when it is of use")
		}
		e.item.About, e.item.Text = e.head["description"], text+e.beside(files)
	}
	if err != nil {
		return err
	}
	if !e.own {
		if err := notAllowed(s.home, e.Path, all); err != nil {
			e.Waits = true
			return err
		}
	}
	if e.Kind == catalogue.Program {
		e.item.About, err = s.describe(e, all)
	}
	return err
}

// beside tells which files lie beside a SKILL.md.
func (e *Entry) beside(files []string) string {
	var names []string
	for _, name := range files {
		if name != e.Name+"/SKILL.md" {
			names = append(names, strings.TrimPrefix(name, e.Name+"/"))
		}
	}
	if len(names) == 0 {
		return ""
	}
	some := strings.Join(names[:min(maxListed, len(names))], ", ")
	return fmt.Sprintf("\n[%d files beside it in %s: %s]\n", len(names), e.Path, some)
}

// Items implements catalogue.Source.
func (s *Shelf) Items() (items []catalogue.Item) {
	for _, e := range s.All() {
		if e.Why == "" && e.Kind != Rules {
			items = append(items, e.item)
		}
	}
	return items
}

// Ask implements catalogue.Source.
func (s *Shelf) Ask(context.Context) []catalogue.Item { return s.Items() }

// Use implements catalogue.Source: nothing is called.
func (s *Shelf) Use(context.Context, string, json.RawMessage, catalogue.Call) (catalogue.Answer, error) {
	return catalogue.Answer{}, errors.New("a skill is a text to follow and a program a command of BASH: TOOLS with its " +
		"name tells more")
}

//go:embed shipped
var shipped embed.FS

// Install puts a skill that ships with the program into a home, and returns its directory. It replaces none.
func Install(home, name string) (dir string, err error) {
	text, err := shipped.ReadFile(path.Join("shipped", path.Base(name), "SKILL.md"))
	if err != nil {
		return "", errors.New("the skill that ships is plan")
	}
	dir = filepath.Join(home, "skills", name)
	if _, err := os.Lstat(dir); err == nil {
		return "", fmt.Errorf("add skill %s: it is there already: remove it first", dir)
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := durable.WriteFile(filepath.Join(dir, "SKILL.md"), text, 0o600); err != nil {
		return "", err
	}
	return dir, nil
}
