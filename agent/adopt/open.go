package adopt

import (
	"archive/zip"
	"cmp"
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
	Dir    string // of its files; "" for a zip
	closer io.Closer
}

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
	return &Store{FS: root.FS(), Place: place, Only: only, closer: root, Dir: dir}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.closer.Close() }

// HowToGet says how a person comes by a store of the agent.
func (a *Agent) HowToGet() string {
	return cmp.Or(a.Hint, fmt.Sprintf("name its store: lethe adopt %s=PATH", a.Name))
}
