package mind

import (
	"errors"
	"fmt"

	"lethe/blobs"
	"lethe/life"
)

// Body is a blob that an event refers to, with its whole address.
type Body struct {
	Hash blobs.Hash
	Data []byte
}

// source is the line of an event, with the bodies of its refs.
type source struct {
	life.Event
	bodies []Body
}

// ref returns the first ref of a line.
func (from source) ref() Ref {
	return Ref{Hash: from.bodies[0].Hash, Short: from.Refs[0].Hash, Gist: from.Refs[0].Gist}
}

// lastRef returns the last ref of a line.
func (from source) lastRef() Ref {
	last := len(from.bodies) - 1
	return Ref{Hash: from.bodies[last].Hash, Short: from.Refs[last].Hash, Gist: from.Refs[last].Gist}
}

// files returns the tags of the files that are sent with a line, each on a line of its own.
func (from source) files() (tags string) {
	for _, ref := range from.Refs {
		if file, ok := blobs.ParseFile(ref.Gist); ok {
			tags += "\n" + file.Tag(ref.Hash)
		}
	}
	return tags
}

// add makes an entry out of the first ref of a line.
func (s *State) add(entry Entry, from source) (*Entry, error) {
	if entry.N != s.Next {
		return nil, fmt.Errorf("entry number is not e%d", s.Next)
	}
	if len(from.bodies) == 0 {
		return nil, errors.New("no body")
	}
	if unit := s.Unit(); unit != nil && unit.Waits() {
		return nil, fmt.Errorf("a result of e%d is still to come", unit.N) // no entry stands inside a unit
	}
	entry.Kind, entry.At, entry.Ref = kindOf(from.Kind), from.At, from.ref()
	if err := entry.load(from.bodies[0].Data); err != nil {
		return nil, err
	}
	s.Live = append(s.Live, &entry)
	s.Next++
	return &entry, nil
}
