package rooms

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"

	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/mind/audience"
)

const stepFile = "rooms.json"

// step is a change of the files of rooms, in share/rooms.json. It is written before the files in share and made durable
// with them, before any file in chats is touched. After a crash it is carried out again, to the same end.
type step struct {
	streams.At                  // the entry that it ends with
	Host       string           `json:"host"`           // that reads
	Sizes      map[string]int64 `json:"sizes"`          // of the files in share behind it
	Late       map[string]int64 `json:"late"`           // offsets that files in share/late were read to
	Gone       []blobs.Hash     `json:"gone,omitempty"` // large texts that an erasure is to drop
	Rooms      map[string]*add  `json:"rooms,omitempty"`

	Readers map[string]audience.Readers `json:"readers,omitempty"` // of rooms, as the stream says
	agreed  map[string]audience.Readers // the same when this host last obeyed
}

// sound reports whether this program can have written the step. Another hand may have changed its file.
func (p step) sound() bool {
	if p.N < 0 || p.Sizes == nil || p.Late == nil {
		return false
	}
	for room, size := range p.Sizes {
		if size < 0 || !named(room) {
			return false
		}
	}
	for room, added := range p.Rooms {
		if added == nil || added.At < 0 || !named(room) {
			return false
		}
	}
	return true
}

// next returns an empty step behind this one.
func (p step) next() step {
	p.Sizes, p.Late, p.Rooms = maps.Clone(p.Sizes), maps.Clone(p.Late), map[string]*add{}
	p.agreed, p.Readers = p.Readers, maps.Collect(maps.All(p.Readers))
	return p
}

// add has the lines that a step adds to one room.
type add struct {
	At    int64  `json:"at"`              // where Lines begin in the file in share
	Lines []byte `json:"lines"`           // of the stream
	Mine  []byte `json:"mine,omitempty"`  // the first of these lines, which come from the file in chats
	Waits []byte `json:"waits,omitempty"` // lines behind Mine there, which are not published yet
}

// take adds items of an entry to a step.
func (p *step) take(items []item, ours bool) {
	for _, part := range items {
		added := p.Rooms[part.Room]
		if added == nil {
			added = &add{At: p.Sizes[part.Room]}
			p.Rooms[part.Room] = added
		}
		if part.Here && ours {
			added.Mine = append(added.Mine, part.lines...)
		}
		if part.From != "" && ours {
			p.Late[part.From] = part.Upto
		}
		if part.Readers != nil {
			p.Readers[part.Room] = part.Readers
		}
		added.Lines = append(added.Lines, part.lines...)
		p.Sizes[part.Room] += int64(len(part.lines))
	}
}

// write makes the step durable, and carries it out.
func (s *round) write() error {
	if s.anew != "" {
		return s.extend(s.anew)
	}
	if err := s.closeRooms(); err != nil {
		return err
	}
	for room, added := range s.step.Rooms {
		if s.sound(room, added.At) { // else other bytes stand there
			added.Waits, _, _ = tail(chat.Path(s.Dir, room), added.At+int64(len(added.Mine)), maxAdded)
		}
	}
	err := durable.WriteJSON(func(path string, data []byte, perm fs.FileMode) error {
		return durable.WriteFileLater(&s.later, path, data, perm)
	}, s.in(stepFile), s.step)
	if err != nil {
		return err
	}
	return s.carryOut(false)
}

// save makes the step durable.
func (s *round) save() error {
	return durable.WriteJSON(durable.WriteFile, s.in(stepFile), s.step)
}

// extend writes the lines of the step into the files in a directory.
func (s *round) extend(dir string) error {
	for room, added := range s.step.Rooms {
		path := filepath.Join(dir, chat.FileName(room))
		if err := durable.WriteEnd(&s.later, path, added.At, added.Lines, 0o600); err != nil {
			return err
		}
	}
	return s.later.Wait()
}

// isWhole reports whether the files in share are as long as the step says.
func (s *round) isWhole() bool {
	for room, size := range s.step.Sizes {
		end, err := chat.End(Path(s.Dir, room))
		if err != nil || end.Size() != size {
			return false
		}
	}
	return true
}

// carryOut writes the lines of the step into the files in share, and then into those in chats. again says that it may
// have been done, in part or in whole.
func (s *round) carryOut(again bool) error {
	if err := s.extend(Dir(s.Dir)); err != nil {
		return err
	}
	if again && !s.isWhole() {
		return durable.ErrShort
	}
	for room, added := range s.step.Rooms {
		if !chat.ValidRoom(room) {
			continue
		}
		if err := s.deliver(room, added, again); err != nil {
			return fmt.Errorf("bring room %s what was said elsewhere: %w", room, err)
		}
	}
	if s.done = s.step.N; s.looks == nil {
		s.looks = map[string]durable.Look{}
	}
	return nil
}
