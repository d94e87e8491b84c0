package rooms

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/pattern"
)

// readAnew replaces the files in share by the stream, from its beginning. The files in chats keep lines that they alone
// have, except erased ones.
func (s *round) readAnew() error {
	if err := s.gather(); err != nil {
		return err
	}
	for room := range s.step.Sizes {
		if err := s.place(room); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(Dir(s.Dir)); err != nil {
		return err
	}
	s.anew, s.step.Rooms, s.looks = "", nil, nil
	return s.write()
}

// gather reads the stream from its beginning, and writes the files of rooms into a directory of their own. Before their
// lines come, rooms are closed.
func (s *round) gather() (err error) {
	s.anew = s.in("anew")
	known := s.step.Readers
	for try := true; try; try = errors.Is(err, streams.ErrAnew) { // once more, where something is erased meanwhile
		s.step = step{Host: s.Host.ID, Sizes: map[string]int64{}, Late: map[string]int64{}, Gone: s.step.Gone}
		if err := os.RemoveAll(s.anew); err != nil {
			return err
		}
		if err := os.Mkdir(s.anew, 0o700); err != nil {
			return err
		}
		err = s.pull()
	}
	s.step.agreed = known
	if err != nil {
		return err
	}
	return s.closeRooms()
}

// place moves the file of a room that was read anew to its place.
func (s *round) place(room string) error {
	fresh := filepath.Join(s.anew, chat.FileName(room))
	now, err := os.ReadFile(fresh)
	if err != nil {
		return err
	}
	for _, path := range []string{chat.Path(s.Dir, room), Path(s.Dir, room)} {
		was, _, err := tail(path, 0, all)
		if err != nil && !errors.Is(err, durable.ErrNotRegular) {
			return err // it may have an erased text, or the only trace of an erasure
		}
		if len(was) == 0 {
			continue
		}
		if err := chat.Erase(path, erased(was, now)...); err != nil {
			return err
		}
		if path == chat.Path(s.Dir, room) {
			continue
		}
		if err := durable.Patch(fresh, erased(now, was)...); err != nil { // it may be erased here alone so far
			return err
		}
	}
	if err := durable.Rename(fresh, Path(s.Dir, room)); err != nil {
		return err
	}
	if !chat.ValidRoom(room) {
		return nil
	}
	for {
		lines, same, looked, err := s.only(room)
		if err != nil || same {
			return err
		}
		if done, err := s.rewrite(room, lines, looked); err != nil || done {
			return err
		}
	}
}

// erased returns the lines of now that lack, by an erasure, a part of the same line of was.
func erased(was, now []byte) (pieces []durable.Piece) {
	at := 0
	for line := range bytes.Lines(now) {
		end := at + len(line)
		if end > len(was) {
			break
		}
		if old := was[at:end]; !bytes.Equal(old, line) && masks(old, line) {
			pieces = append(pieces, durable.Piece{At: int64(at), Data: line})
		}
		at = end
	}
	return pieces
}

var filled = pattern.Lazy(`\[erased\.*\]|\.`)

// masks reports whether a text is another one of its length with parts erased.
func masks(was, now []byte) bool {
	made := bytes.Clone(was)
	for _, m := range filled().FindAllIndex(now, -1) {
		copy(made[min(m[0], len(made)):], now[m[0]:m[1]])
	}
	return bytes.Equal(made, now)
}
