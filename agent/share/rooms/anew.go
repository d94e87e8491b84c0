package rooms

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/durable"
)

// readAnew has the files in share be what the stream says from its beginning. Those in chats go on with what they alone
// have, without what was erased.
func (s *round) readAnew() error {
	err := s.gather()
	for room := range s.step.Sizes {
		if err == nil {
			err = s.place(room)
		}
	}
	if err == nil {
		err = durable.SyncDir(Dir(s.Dir))
	}
	if err == nil {
		s.anew, s.step.Rooms, s.looks = "", nil, nil
		err = s.write()
	}
	return err
}

// gather reads the stream from its beginning, and writes the files of rooms into a directory of their own.
func (s *round) gather() (err error) {
	s.anew = s.in("anew")
	for try := true; try; try = errors.Is(err, streams.ErrAnew) { // once more, where something is erased meanwhile
		s.step = step{Host: s.Host.ID, Sizes: map[string]int64{}, Late: map[string]int64{}, Gone: s.step.Gone}
		if err = cmp.Or(os.RemoveAll(s.anew), os.Mkdir(s.anew, 0o700)); err == nil {
			err = s.pull()
		}
	}
	return err
}

// place puts the file of a room that was read anew where it belongs.
func (s *round) place(room string) error {
	fresh := filepath.Join(s.anew, chat.FileName(room))
	now, err := os.ReadFile(fresh)
	for _, path := range []string{chat.Path(s.Dir, room), Path(s.Dir, room)} {
		if was, _, werr := tail(path, 0, all); err == nil && werr == nil && len(was) > 0 {
			err = chat.Erase(path, erased(was, now)...)
			if err == nil && path == Path(s.Dir, room) { // what was erased here and is not yet in the stream
				err = durable.Patch(fresh, erased(now, was)...)
			}
		}
	}
	if err == nil {
		err = durable.Rename(fresh, Path(s.Dir, room))
	}
	for done := !chat.ValidRoom(room); err == nil && !done; {
		var lines []byte
		var looked fs.FileInfo
		lines, done, looked, err = s.only(room)
		if err == nil && !done {
			done, err = s.rewrite(room, lines, looked)
		}
	}
	return err
}

// erased returns the lines of a text that were erased from one that has the same lines.
func erased(was, now []byte) (pieces []durable.Piece) {
	at := 0
	for l := range bytes.Lines(now) {
		end := at + len(l)
		if end <= len(was) && !bytes.Equal(was[at:end], l) && masks(was[at:end], l) {
			pieces = append(pieces, durable.Piece{At: int64(at), Data: l})
		}
		at = end
	}
	return pieces
}

var filled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[erased\.*\]|\.`) })

// masks reports whether a text is another one of its length with parts erased.
func masks(was, now []byte) bool {
	made := bytes.Clone(was)
	for _, m := range filled().FindAllIndex(now, -1) {
		copy(made[min(m[0], len(made)):], now[m[0]:m[1]])
	}
	return bytes.Equal(made, now)
}
