package rooms

import (
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/mind/audience"
)

// readers returns the people who may read a room, as this host's settings say; nil where they say nothing. Settings that
// make no sense stand for nobody, unless the stream names readers.
func (s *round) readers(room string) audience.Readers {
	about, err := chat.ReadAbout(s.Dir, room)
	if err != nil && s.step.Readers[room] == nil {
		return audience.Readers{}
	}
	return about.Readers
}

// hasNewReaders reports whether people have changed the readers of a room here.
func (s *round) hasNewReaders(room string) bool {
	file := chat.AboutPath(s.Dir, room)
	now := durable.LookAt(file)
	if s.looks[file].Same(now) {
		return false
	}
	readers := s.readers(room)
	if readers != nil && !audience.Same(readers, s.step.Readers[room]) {
		return true
	}
	s.looks[file] = now
	return false
}

// closeRooms has the people read rooms here whom the stream names since this host last obeyed. Where people have named
// others here meanwhile, only those may read whom both name.
func (s *round) closeRooms() error {
	for room, now := range s.step.Readers {
		was := s.step.agreed[room]
		if audience.Same(was, now) {
			continue
		}
		about, err := chat.ReadAbout(s.Dir, room)
		if err != nil || audience.Same(about.Readers, now) {
			continue
		}
		if audience.Same(about.Readers, was) {
			about.Readers = now
		} else {
			about.Readers = audience.Common(about.Readers, now)
		}
		if err := about.Write(s.Dir, room); err != nil {
			return err
		}
	}
	return nil
}
