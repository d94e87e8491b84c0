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

// format is that of the files and of what fills them: tokens, stems and classes. An index of
// another format is made anew. What a search makes of it (weights, bounds, ranking) is not part of it.
const format = 10

// state is what the file at the index's path says: which runs there are, here open for reading, and how far
// the log was read for them. It is replaced whole, behind what it names; so readers need no lock.
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
	s, err := openOnce(path)
	if errors.Is(err, errRunGone) { // the state was replaced meanwhile
		return openOnce(path)
	}
	return s, err
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
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if s.Format != format {
		return nil, fmt.Errorf("%w: it has format %d, not %d", errDamaged, s.Format, format)
	}
	next := int64(1)
	for i := range s.Runs {
		if err = s.Runs[i].open(path, next); err != nil {
			s.close()
			return nil, err
		}
		next += s.Runs[i].N
	}
	return s, nil
}

func (s *state) close() {
	for _, r := range s.Runs {
		if r.file != nil {
			r.file.Close() // it was only read, or is durable
		}
	}
}

// save makes s what the index is, and removes the files of runs that are not of it. A power loss may leave
// neither it nor the state before: of a cache that is enough.
func (s *state) save(path string) error {
	s.Format = format
	data, err := json.Marshal(s)
	if err == nil {
		err = durable.Replace(path, data, 0o600)
	}
	return errors.Join(err, s.sweep(path))
}

// sweep removes what stands beside the index and is no part of it: runs that were merged, files of
// a Sync that was cut short, and those of older programs.
func (s *state) sweep(path string) error {
	keep := map[string]bool{"lock": true}
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
