package adopt

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Store is a place of histories on this machine: a directory, a file of one, or a zip.
type Store struct {
	fs.FS
	dir     string // of its files; "" for a zip
	closers []io.Closer
}

// A Source is a store of an agent, by its place.
type Source struct {
	Agent string `json:"agent"`
	Place string `json:"place"`
	Own   bool   `json:"own,omitempty"` // the agent keeps it on this machine, and so its temporary files
}

// Sources returns the store that NAME=PATH names, or, for the NAME of an agent, those that it keeps on this machine.
func Sources(name string) (all []Source, err error) {
	name, place, given := strings.Cut(name, "=")
	agent := Find(name)
	if agent == nil {
		return nil, fmt.Errorf("no such agent: %q", name)
	}
	home, err := os.UserHomeDir()
	if given {
		if below, isHome := strings.CutPrefix(place, "~/"); isHome && err == nil { // no shell expands it here
			place = filepath.Join(home, below)
		}
		place, err = filepath.Abs(place)
		return []Source{{name, place, false}}, err
	}
	for _, place := range agent.Places(home, os.Getenv) {
		if _, missing := os.Stat(place); missing == nil {
			all = append(all, Source{name, place, true})
		}
	}
	return all, err
}

// Close closes the store.
func (s *Store) Close() (err error) {
	for _, closer := range s.closers {
		err = errors.Join(err, closer.Close())
	}
	return err
}

// Open opens a directory, of which no link leads out, a zip, or another file, and has options read it.
func (s Source) Open(options *Options) (*Store, error) {
	info, err := os.Stat(s.Place)
	if err != nil {
		return nil, err
	}
	store := &Store{}
	options.Rows = store.Rows
	if strings.EqualFold(filepath.Ext(s.Place), ".zip") {
		archive, err := zip.OpenReader(s.Place)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", s.Place, err)
		}
		store.FS, store.closers = archive, []io.Closer{archive}
		return store, nil
	}
	store.dir = s.Place
	if !info.IsDir() {
		store.dir, options.Only = filepath.Split(s.Place)
	}
	root, err := os.OpenRoot(filepath.Clean(store.dir))
	if err != nil {
		return nil, err
	}
	store.FS, store.closers = root.FS(), []io.Closer{root}
	if !s.Own {
		return store, nil
	}
	temp, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	options.Temp = temp.FS()
	store.closers = append(store.closers, temp)
	return store, nil
}

// HowToGet says how a person comes by a store of the agent.
func (a *Agent) HowToGet() string {
	return cmp.Or(a.Hint, fmt.Sprintf("name its store: lethe adopt %s=PATH", a.Name))
}
