// Package skills finds texts that tell an agent how to do something: directories with a SKILL.md, by the Agent Skills
// specification.
//
//	shelf := skills.New(home, user, func(dir string) bool { return false })
//	config.Others = append(config.Others, shelf) // a catalogue.Source
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
	"strings"
	"sync"
	"time"
	"unicode"

	"lethe/catalogue"
	"lethe/internal/durable"
	"lethe/internal/lazy"
)

// What a skill may be.
const (
	maxText   = 256 << 10 // bytes of a SKILL.md
	maxFiles  = 1000      // files of a skill beside it
	maxListed = 50        // files that its text names

	lookEvery = time.Second
)

// Entry is a skill, which is offered unless Why says what is wrong with it.
type Entry struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Why  string `json:"why,omitempty"`

	item catalogue.Item
}

// Shelf holds the skills of an identity. It is a catalogue.Source; of two with one name the first counts.
type Shelf struct {
	Dirs   []string // that tools have to read
	mu     sync.Mutex
	looked time.Time
	all    []Entry
}

// New returns the skills of a home and of a user, "" for none; those of a directory only if writable says that the
// identity cannot write there. It reads none yet.
func New(home, user string, writable func(dir string) bool) *Shelf {
	s := &Shelf{}
	for _, dir := range []string{filepath.Join(home, "skills"), filepath.Join(user, ".agents/skills")} {
		real, _ := filepath.EvalSymlinks(dir) // "" where it is missing
		if dir = cmp.Or(real, dir); filepath.IsAbs(dir) && !writable(dir) {
			s.Dirs = append(s.Dirs, dir)
		}
	}
	return s
}

// All returns all that there is, also what is not offered. It looks at most once a second.
func (s *Shelf) All() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.looked) < lookEvery {
		return s.all
	}
	s.all, s.looked = []Entry{}, time.Now()
	for _, dir := range s.Dirs {
		entries, _ := os.ReadDir(dir) // what cannot be read is not there
		for _, d := range entries {
			if d.Type().IsRegular() || d.Name()[0] == '.' {
				continue
			}
			e := Entry{Name: d.Name(), Path: filepath.Join(dir, d.Name())}
			if err := e.read(); err != nil {
				e.Why = err.Error()
			}
			s.all = append(s.all, e)
		}
	}
	return s.all
}

var validName = lazy.Regexp(`^[a-z0-9-]{1,64}$`)

func (e *Entry) read() error {
	if !validName().MatchString(e.Name) {
		return errors.New("its directory's name is not up to 64 of a-z, 0-9 and hyphens")
	}
	if fi, err := os.Lstat(e.Path); err != nil || !fi.IsDir() {
		return errors.New("it is no directory (a link is none)")
	}
	files, err := walk(os.DirFS(e.Path))
	if err != nil {
		return err
	}
	text, err := durable.ReadWhole(filepath.Join(e.Path, "SKILL.md"), maxText)
	if err != nil {
		return err
	}
	head, err := front(string(text))
	if err == nil && head["description"] == "" {
		err = errors.New("SKILL.md has no description, so nobody knows when it is of use")
	}
	e.item = catalogue.Item{
		Kind: catalogue.Skill, Name: e.Name, About: head["description"], Text: string(text), Own: true,
	}
	if len(files) > 0 {
		some := strings.Join(files[:min(maxListed, len(files))], ", ")
		e.item.Text += fmt.Sprintf("\n[%d files beside it in %s: %s]\n", len(files), e.Path, some)
	}
	return err
}

// walk returns the files of a skill but SKILL.md. There is nothing else than files and directories.
func walk(skill fs.FS) (files []string, err error) {
	return files, fs.WalkDir(skill, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case len(files) == maxFiles:
			return fmt.Errorf("it has more than %d files", maxFiles)
		case !d.Type().IsRegular() || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("%q is no regular file (a link is none)", name)
		case name != "SKILL.md":
			files = append(files, name)
		}
		return nil
	})
}

// Items implements catalogue.Source.
func (s *Shelf) Items() (items []catalogue.Item) {
	for _, e := range s.All() {
		if e.Why == "" {
			items = append(items, e.item)
		}
	}
	return items
}

// Ask implements catalogue.Source.
func (s *Shelf) Ask(context.Context) []catalogue.Item { return s.Items() }

// Use implements catalogue.Source: nothing is called.
func (s *Shelf) Use(context.Context, string, json.RawMessage, catalogue.Call) (catalogue.Answer, error) {
	return catalogue.Answer{}, errors.New("a skill is a text to follow: TOOLS with its name shows it")
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
	return dir, cmp.Or(durable.MkdirAll(dir, 0o700), durable.WriteFile(filepath.Join(dir, "SKILL.md"), text, 0o600))
}
