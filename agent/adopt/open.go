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
	Place  string
	Only   string // the file of FS that was meant; "" for all
	closer io.Closer
	dir    string
}

// Dir returns the directory of the store's files; "" for a zip.
func (s *Store) Dir() string { return s.dir }

// Open opens a directory, of which no link leads out, a zip, or another file.
func Open(place string) (*Store, error) {
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(place), ".zip") {
		archive, err := zip.OpenReader(place)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", place, err)
		}
		return &Store{FS: archive, Place: place, closer: archive}, nil
	}
	dir, only := place, ""
	if !info.IsDir() {
		dir, only = filepath.Split(place)
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	return &Store{FS: root.FS(), Place: place, Only: only, closer: root, dir: dir}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.closer.Close() }

// Stores opens the stores of the agent on this machine, if it keeps some. The caller closes them.
func (a *Agent) Stores(home string, getenv func(string) string) (all []*Store, err error) {
	for _, place := range a.Places(home, getenv) {
		store, opened := Open(place)
		switch {
		case opened == nil:
			all = append(all, store)
		case !errors.Is(opened, fs.ErrNotExist):
			err = errors.Join(err, opened)
		}
	}
	return all, err
}

// Nothing is a sink for a run that only reports.
type Nothing struct{}

// Session takes a session.
func (Nothing) Session(Session) error { return nil }

// Entry takes an entry.
func (Nothing) Entry(Entry) error { return nil }

// Read takes the end of a file.
func (Nothing) Read(Piece) error { return nil }

// HowToGet says how a person comes by a store of the agent.
func (a *Agent) HowToGet() string {
	return cmp.Or(a.Hint, fmt.Sprintf("name its store: lethe adopt %s=PATH", a.Name))
}
