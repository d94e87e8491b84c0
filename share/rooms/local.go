package rooms

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/lazy"
)

// maxAdded bounds the lines of one item, in bytes, as long as one line is shorter.
const maxAdded = 256 << 10

// appended returns what people and programs have appended to rooms here since the last round.
func (s *round) appended() (items []item, err error) {
	if items, err = s.drained(); err != nil {
		return nil, err
	}
	for _, room := range chat.All(s.Dir) {
		now := durable.LookAt(chat.Path(s.Dir, room))
		if was, looked := s.looks[room]; looked && was.Same(now) {
			continue
		}
		lines, sound, err := s.behind(room)
		s.read[room] = now.FileInfo
		if err == nil && len(lines) > 0 {
			var i item
			i, err = s.item(room, lines, sound)
			items = append(items, i)
		} else if s.looks[room] = now; err == nil && !sound {
			_, err = s.rewrite(room, nil, now.FileInfo) // somebody changed the past
		}
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

// behind returns the whole lines that the file of a room in chats has more than the one in share, at most maxAdded bytes
// or one line. sound says that what stands before them is as it was.
func (s *round) behind(room string) (lines []byte, sound bool, err error) {
	mine, theirs := Path(s.Dir, room), chat.Path(s.Dir, room)
	end, err := chat.End(mine)
	if err != nil {
		return nil, false, err
	}
	var at chat.Cursor
	if end.Size() > 0 {
		last, err := chat.Before(mine, end.Size(), 20)
		if err == nil {
			at, err = chat.At(mine, end.Size())
		}
		if err != nil {
			return nil, false, err
		}
		for _, l := range last {
			at = at.Remember(l.Raw)
		}
	}
	batch, err := chat.Read(theirs, at, maxAdded)
	if err != nil || batch.Missing {
		return nil, true, err
	}
	if batch.Realigned || batch.Restarted {
		for _, l := range batch.Lines {
			lines = append(append(lines, l.Raw...), '\n')
		}
		return lines, false, nil
	}
	text, _, err := tail(theirs, end.Size()) // with its blank lines
	return text[:min(int64(len(text)), batch.Next.Offset-end.Size())], true, err
}

// tail returns what a file has behind an offset, and how it looked; nothing of one that is missing or shorter.
func tail(path string, from int64) (text []byte, looked fs.FileInfo, err error) {
	f, fi, err := durable.OpenRegular(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.NewSectionReader(f, from, max(0, fi.Size()-from)))
	return text, fi, err
}

var mention = lazy.Regexp(`hash=([0-9a-f]{12,64})`)

// item makes an item of lines. here says that they stand in the file in chats, behind what all hosts have.
func (s *round) item(room string, lines []byte, here bool) (i item, err error) {
	i = item{Room: room, Here: here, lines: lines}
	for _, m := range mention().FindAllSubmatch(lines, -1) {
		if h, err := s.Store.Resolve(string(m[1])); err == nil {
			i.Files = append(i.Files, h)
		}
	}
	if len(lines) > maxAdded {
		i.Large = blobs.Sum(lines)
		err = s.Streams.PutLarge(s.ctx, Stream, i.Large, lines)
	}
	return i, err
}

// deliver brings what a step adds to a room into its file in chats.
func (s *round) deliver(room string, a *add, again bool) error {
	path := chat.Path(s.Dir, room)
	rest, whole := bytes.CutPrefix(a.Lines, a.Mine)
	done := slices.Concat(a.Lines, a.Waits)
	for appended := false; ; {
		there, looked, err := tail(path, a.At)
		switch {
		case err != nil:
			return err
		case !s.sound(room, a.At): // what somebody changed: what is new in it was published, if it is as it was read
			_, err = s.rewrite(room, nil, s.read[room])
			return err
		case whole && len(rest) == 0 || again && bytes.HasPrefix(there, done):
			return nil
		case whole && bytes.Equal(there, a.Mine):
			from, _, err := durable.Append(path, rest, 0o600)
			if err != nil || from == a.At+int64(len(a.Mine)) {
				return err
			}
			appended = true // and somebody was faster
			continue
		}
		pending := bytes.TrimPrefix(there, a.Mine)
		if before, after, found := bytes.Cut(pending, rest); appended && found {
			pending = append(bytes.Clone(before), after...)
		}
		if done, err := s.rewrite(room, pending, looked); done || err != nil {
			return err
		}
	}
}

// sound reports whether the file of a room in chats has before an offset what the one in share has.
func (s *round) sound(room string, at int64) bool {
	from := max(0, at-4096)
	mine, _, err := tail(Path(s.Dir, room), from)
	theirs, _, terr := tail(chat.Path(s.Dir, room), from)
	n := int(at - from)
	return cmp.Or(err, terr) == nil && len(mine) >= n && len(theirs) >= n && bytes.Equal(mine[:n], theirs[:n])
}

// rewrite has the file of a room in chats hold what the one in share does and lines behind it that are not published yet,
// if it still looks so. What somebody appends to the file that had its name is not lost: drained looks for it.
func (s *round) rewrite(room string, pending []byte, looked fs.FileInfo) (done bool, err error) {
	path := chat.Path(s.Dir, room)
	text, err := os.ReadFile(Path(s.Dir, room))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	old, _, oerr := durable.OpenRegular(path, os.O_RDONLY, 0)
	now, err := durable.Swap(path, append(text, pending...), 0o600, func(fi fs.FileInfo) bool {
		return looked == nil && fi == nil || durable.Unchanged(looked, fi)
	})
	switch {
	case oerr != nil:
	case now == nil || looked == nil:
		old.Close()
	default:
		s.late = append(s.late, &replaced{room, old, looked.Size(), looked.Size(), time.Now().Add(time.Minute)})
	}
	return now != nil, err
}

// replaced is a file that was that of a room. Who has opened it before may append to it still.
type replaced struct {
	room  string
	file  *os.File
	size  int64 // of what is known of it
	next  int64 // and of what is being published
	until time.Time
}

// drained returns what was appended to files that were replaced.
func (s *round) drained() (items []item, err error) {
	var left []*replaced
	for _, r := range s.late {
		text, err := io.ReadAll(io.NewSectionReader(r.file, r.size, 1<<30))
		if err != nil {
			return nil, err
		}
		if lines := text[:bytes.LastIndexByte(text, '\n')+1]; len(lines) > 0 {
			i, err := s.item(r.room, lines, false)
			if err != nil {
				return nil, err
			}
			items, r.next = append(items, i), r.size+int64(len(lines))
		}
		if r.next == r.size && time.Now().After(r.until) {
			r.file.Close()
			continue
		}
		left = append(left, r)
	}
	s.late = left
	return items, nil
}

// brought notes that what drained returned last is in the stream, if this entry brought it.
func (s *round) brought(e entry) {
	if e.Nonce == s.tried {
		for _, r := range s.late {
			r.size = r.next
		}
	}
}
