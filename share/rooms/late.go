package rooms

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/share/streams"
)

// lateDir has files of rooms that were replaced, for what is appended to them by those who had opened them before:
// ROOM.SIZE.NONCE, of which SIZE bytes were known.
func (s *round) lateDir() string { return filepath.Join(s.Dir, "share", "late") }

// rewrite has the file of a room in chats hold what the one in share does and lines behind it that are not published yet,
// if it still looks so. The file that had its name stands in lateDir then.
func (s *round) rewrite(room string, pending []byte, looked fs.FileInfo) (done bool, err error) {
	path, late := chat.Path(s.Dir, room), ""
	text, err := os.ReadFile(Path(s.Dir, room))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if looked != nil {
		s.replaced() // which a process began that was killed
		err = durable.MkdirAll(s.lateDir(), 0o700)
		late = filepath.Join(s.lateDir(), fmt.Sprintf("%s.%d.%s", room, looked.Size(), streams.Nonce()))
		if err == nil {
			err = durable.Link(path, late)
		}
		if err != nil {
			return false, err
		}
	}
	now, err := durable.Swap(path, append(text, pending...), 0o600, func(fi fs.FileInfo) bool {
		return looked == nil && fi == nil || durable.Unchanged(looked, fi)
	})
	if now == nil && err == nil && late != "" {
		err = durable.Remove(late)
	}
	return now != nil, err
}

// replaced returns the files in lateDir with how far they were read. It removes names of those that rooms have still.
func (s *round) replaced() map[string]int64 {
	read := map[string]int64{}
	all, _ := os.ReadDir(s.lateDir())
	for _, d := range all {
		var size int64
		room, rest, _ := strings.Cut(d.Name(), ".")
		_, _ = fmt.Sscan(strings.Replace(rest, ".", " ", 1), &size)
		late, err := d.Info()
		now, nerr := os.Lstat(chat.Path(s.Dir, room))
		if err == nil && nerr == nil && os.SameFile(late, now) {
			_ = os.Remove(filepath.Join(s.lateDir(), d.Name()))
			continue
		}
		read[d.Name()] = max(size, s.step.Late[d.Name()])
	}
	maps.DeleteFunc(s.step.Late, func(name string, _ int64) bool { return read[name] == 0 })
	return read
}

// drained returns what was appended to files that were replaced, and removes those to which nobody can append any more.
func (s *round) drained() (items []item, err error) {
	for name, from := range s.replaced() {
		path := filepath.Join(s.lateDir(), name)
		f, _, err := durable.OpenRegular(path, os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		held := durable.Held(f) // if not, it stays as it is
		text, err := io.ReadAll(io.NewSectionReader(f, from, 1<<30))
		f.Close()
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
		}
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

// blank has files in lateDir hold nothing that they held when they were replaced, or that was published since.
func (s *round) blank() error {
	for name, from := range s.replaced() {
		err := durable.Patch(filepath.Join(s.lateDir(), name), durable.Piece{Data: make([]byte, from)})
		if err != nil {
			return err
		}
	}
	return nil
}
