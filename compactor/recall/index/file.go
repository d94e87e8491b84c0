package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lethe/internal/durable"
	"lethe/life"
)

// format is the version of the files and their contents: tokens, stems and classes. An index of another format is made
// anew. Weights, bounds and ranking of a search are not part of it.
const format = 12

// state is the file at the index's path: the runs, here open for reading, and the place in the log up to which they
// hold it. It is replaced whole, after its runs are written; so readers need no lock.
type state struct {
	Format    int   `json:"format"`
	life.Mark       // of the log
	Runs      []run `json:"runs"`
}

// next is the number of the next segment.
func (s *state) next() int64 {
	if len(s.Runs) == 0 {
		return 1
	}
	last := s.Runs[len(s.Runs)-1]
	return last.First + last.N
}

// open reads the index at a path. An error is damaged if it cannot be used.
func open(path string) (*state, error) {
	state, err := openOnce(path)
	if errors.Is(err, errRunGone) { // the state was replaced meanwhile
		return openOnce(path)
	}
	return state, err
}

// errRunGone says that a run of the state is not there.
var errRunGone = fmt.Errorf("%w: a part of it is missing", errDamaged)

func openOnce(path string) (*state, error) {
	data, err := durable.ReadWhole(path, 1<<20)
	if errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	opened := &state{}
	if err := json.Unmarshal(data, opened); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if opened.Format != format {
		return nil, fmt.Errorf("%w: it has format %d, not %d", errDamaged, opened.Format, format)
	}
	next := int64(1)
	for i := range opened.Runs {
		if err = opened.Runs[i].open(path, next); err != nil {
			opened.close()
			return nil, err
		}
		next += opened.Runs[i].N
	}
	return opened, nil
}

func (s *state) close() {
	for _, r := range s.Runs {
		if r.file != nil {
			r.file.Close() // it was only read, or is durable
		}
	}
}

// save makes s the state of the index, and removes the files of other runs. A power loss may leave neither it nor the
// state before: of a cache that is enough.
func (s *state) save(path string) error {
	s.Format = format
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := durable.Replace(path, data, 0o600); err != nil {
		return err // the state before needs its runs
	}
	return s.sweep(path)
}

// sweep removes the files beside the index that are no part of it: merged runs, and files of an interrupted Sync or an
// older program.
func (s *state) sweep(path string) error {
	keep := map[string]bool{"lock": true, "words": len(s.Runs) > 0}
	for _, r := range s.Runs {
		keep[r.File] = true
	}
	names, err := os.ReadDir(filepath.Dir(path))
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name.Name(), filepath.Base(path)+"-"); ok && !keep[rest] {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), name.Name())))
		}
	}
	return err
}

// errDamaged is wrapped by errors about an index that contradicts itself.
var errDamaged = errors.New("the index cannot be used")
