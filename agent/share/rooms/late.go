package rooms

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/durable"
)

// late is the directory of files of rooms that were replaced: a program may have one open, and append to it. Of
// ROOM.SIZE.NONCE SIZE bytes were known.
const late = "late"

// rewrite replaces the file of a room in chats, if it still looks so, by the lines of the file in share and by pending
// lines, which are not published yet. The file that it replaces stays in late.
func (s *round) rewrite(room string, pending []byte, looked fs.FileInfo) (done bool, err error) {
	path, aside, perm := chat.Path(s.Dir, room), "", fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(path); err == nil { // the link stays
		path = target
	}
	text, _, err := tail(Path(s.Dir, room), 0, all)
	if err != nil {
		return false, err
	}
	if looked != nil {
		perm = looked.Mode().Perm()
		s.replaced() // removes the name that a killed process gave it
		aside = filepath.Join(s.in(late), fmt.Sprintf("%s.%d.%s", room, looked.Size(), streams.Nonce()))
		if err := durable.MkdirAll(s.in(late), 0o700); err != nil {
			return false, err
		}
		if err := durable.Link(path, aside); err != nil {
			return false, err
		}
	}
	now, err := durable.Swap(path, append(text, pending...), perm, func(fi fs.FileInfo) bool {
		if looked == nil {
			return fi == nil
		}
		return durable.Unchanged(looked, fi)
	})
	if err != nil {
		return false, err
	}
	if now == nil && aside != "" { // the file stays, and so needs no other name
		return false, durable.Remove(aside)
	}
	return now != nil, nil
}

// replaced returns the files in late, with the offsets that they were read to. It removes names of files that rooms
// still have.
func (s *round) replaced() map[string]int64 {
	read := map[string]int64{}
	all, _ := os.ReadDir(s.in(late))
	for _, d := range all {
		var size int64
		room, rest, _ := strings.Cut(d.Name(), ".")
		_, err := fmt.Sscanf(rest, "%d.", &size)
		if size < 0 || !chat.ValidRoom(room) {
			continue // no program of ours has put it there
		}
		was, _ := d.Info()
		now, _ := os.Stat(chat.Path(s.Dir, room))
		if os.SameFile(was, now) {
			_ = os.Remove(filepath.Join(s.in(late), d.Name()))
		} else if err == nil {
			read[d.Name()] = max(size, s.step.Late[d.Name()])
		}
	}
	return read
}

// drained returns lines that were appended to replaced files. It removes a file once nobody can append to it.
func (s *round) drained() (items []item, err error) {
	for name, from := range s.replaced() {
		part, err := s.drain(name, from)
		if err != nil {
			return nil, err
		}
		if len(part.lines) > 0 {
			items = append(items, part)
		}
	}
	return items, nil
}

// drain returns lines of a file in late behind an offset. It removes the file at its end, if nobody has it
// open.
func (s *round) drain(name string, from int64) (part item, err error) {
	path := filepath.Join(s.in(late), name)
	held := durable.Held(path) // if not, it stays as it is
	text, _, err := tail(path, from, all)
	if err != nil {
		return part, err
	}
	lines := whole(text)
	end := len(lines)
	if end == 0 && !held {
		if len(text) == 0 {
			delete(s.step.Late, name)
			return part, durable.Remove(path)
		}
		lines, end = append(text, '\n'), len(text) // nobody will finish it
	}
	if len(lines) == 0 {
		return part, nil
	}
	room, _, _ := strings.Cut(name, ".")
	part, err = s.item(room, lines, false)
	part.From, part.Upto = name, from+int64(end)
	return part, err
}
