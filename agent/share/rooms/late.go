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

// late is where files of rooms stand that were replaced, for what is appended to them by those who had opened them before:
// ROOM.SIZE.NONCE, of which SIZE bytes were known.
const late = "late"

// rewrite has the file of a room in chats hold what the one in share does and lines behind it that are not published yet,
// if it still looks so. The file that had its name stands in late then.
func (s *round) rewrite(room string, pending []byte, looked fs.FileInfo) (done bool, err error) {
	path, aside, perm := chat.Path(s.Dir, room), "", fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(path); err == nil { // which the link goes on to name
		path = target
	}
	text, _, err := tail(Path(s.Dir, room), 0, all)
	if err != nil {
		return false, err
	}
	if looked != nil {
		perm = looked.Mode().Perm()
		s.replaced() // for what a process began that was killed
		aside = filepath.Join(s.in(late), fmt.Sprintf("%s.%d.%s", room, looked.Size(), streams.Nonce()))
		if err := durable.MkdirAll(s.in(late), 0o700); err != nil {
			return false, err
		}
		if err := durable.Link(path, aside); err != nil {
			return false, err
		}
	}
	now, err := durable.Swap(path, append(text, pending...), perm, func(fi fs.FileInfo) bool {
		return looked == nil && fi == nil || durable.Unchanged(looked, fi)
	})
	if now == nil && err == nil && looked != nil {
		err = durable.Remove(aside)
	}
	return now != nil, err
}

// replaced returns the files in late with how far they were read. It removes names of those that rooms have still.
func (s *round) replaced() map[string]int64 {
	read := map[string]int64{}
	all, _ := os.ReadDir(s.in(late))
	for _, d := range all {
		var size int64
		room, rest, _ := strings.Cut(d.Name(), ".")
		_, err := fmt.Sscanf(rest, "%d.", &size)
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

// drained returns what was appended to files that were replaced, and removes those to which nobody can append any more.
func (s *round) drained() (items []item, err error) {
	for name, from := range s.replaced() {
		path := filepath.Join(s.in(late), name)
		held := durable.Held(path) // if not, it stays as it is
		text, _, err := tail(path, from, all)
		lines := whole(text)
		end := len(lines)
		if end == 0 && len(text) > 0 && !held { // nobody will finish it
			lines, end = append(text, '\n'), len(text)
		}
		if err == nil && len(lines) > 0 {
			room, _, _ := strings.Cut(name, ".")
			var i item
			i, err = s.item(room, lines, false)
			i.From, i.Upto = name, from+int64(end)
			items = append(items, i)
		} else if err == nil && !held {
			err = durable.Remove(path)
			delete(s.step.Late, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}
