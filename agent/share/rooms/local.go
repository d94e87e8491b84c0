package rooms

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/pattern"
)

// maxAdded bounds the lines of one item, in bytes, as long as one line is shorter.
const maxAdded = 256 << 10

// news returns what people and programs have appended to rooms here since the last round, or only to those of posts, and
// posts that are owed: also those that came meanwhile, if it has looked at their rooms.
func (s *round) news(everywhere bool) (items []item, err error) {
	if items, err = s.drained(); err != nil {
		return nil, err
	}
	rooms := map[string]int64{}
	if everywhere {
		rooms = maps.Clone(s.step.Sizes)
		for _, room := range chat.All(s.Dir) {
			rooms[room] = 0
		}
	} else {
		s.take()
		for _, p := range s.posts {
			rooms[p.room] = 0
		}
	}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		if !chat.ValidRoom(room) {
			continue
		}
		more, err := s.appendedTo(room)
		mustEnd := everywhere || errors.Is(err, durable.ErrShort)
		if err != nil && mustEnd {
			return nil, err
		}
		for _, p := range s.posts {
			if p.room == room {
				p.err = err
			}
		}
		items = append(items, more...)
	}
	if everywhere {
		s.take()
	}
	return append(items, s.owed()...), nil
}

func (s *round) appendedTo(room string) (items []item, err error) {
	if s.hasNewReaders(room) {
		items = append(items, item{Room: room})
	}
	now := durable.LookAt(chat.Path(s.Dir, room))
	if s.looks[room].Same(now) {
		return items, nil
	}
	lines, sound, err := s.behind(room)
	switch {
	case err != nil:
	case len(lines) > 0:
		var part item
		part, err = s.item(room, lines, sound)
		items = append(items, part)
	case sound:
		s.looks[room] = now
	default: // somebody changed the past, or removed the file
		_, err = s.rewrite(room, nil, now.FileInfo)
	}
	return items, err
}

// behind returns whole lines of a room in chats that the file in share lacks, at most maxAdded bytes or one line. sound
// says that the lines before them are the same in both.
func (s *round) behind(room string) (lines []byte, sound bool, err error) {
	mine, theirs, size := Path(s.Dir, room), chat.Path(s.Dir, room), s.step.Sizes[room]
	end, err := chat.End(mine)
	if err != nil {
		return nil, false, err
	}
	if size > 0 && end.Size() != size {
		return nil, false, durable.ErrShort
	}
	if s.sound(room, size) {
		text, _, err := tail(theirs, size, all)
		return whole(text), true, err
	}
	_, _, at, err := chat.Tail(mine, 0)
	if err != nil {
		return nil, false, err
	}
	batch, err := chat.Read(theirs, at, maxAdded)
	if err != nil {
		return nil, false, err
	}
	if batch.Restarted {
		lines, _, _, err = s.only(room)
		return whole(lines), false, err
	}
	for _, l := range batch.Lines {
		lines = append(append(lines, l.Raw...), '\n')
	}
	return lines, false, nil
}

// whole returns the whole lines that a text begins with, at most maxAdded bytes or one line.
func whole(text []byte) []byte {
	end := bytes.LastIndexByte(text[:min(len(text), maxAdded)], '\n') + 1
	if end == 0 {
		end = bytes.IndexByte(text, '\n') + 1
	}
	return text[:end]
}

// only returns the lines of a room in chats that the file in share has nowhere, without blank ones. sound says that
// they stand behind all others.
func (s *round) only(room string) (lines []byte, sound bool, looked fs.FileInfo, err error) {
	mine, _, err := tail(Path(s.Dir, room), 0, all)
	if err != nil {
		return nil, false, nil, err
	}
	theirs, looked, err := tail(chat.Path(s.Dir, room), 0, all)
	if err != nil {
		return nil, false, nil, err
	}
	sound = bytes.HasPrefix(theirs, mine)
	if bytes.HasPrefix(mine, theirs) { // also where a line there is not whole
		return nil, sound, looked, nil
	}
	left := map[string]int{}
	for line := range bytes.Lines(mine) {
		left[string(line)]++
	}
	for l := range bytes.Lines(theirs) {
		known := left[string(l)] > 0
		left[string(l)]--
		blank := len(bytes.TrimSpace(l)) == 0
		if !known && !blank {
			lines = append(lines, l...)
		}
	}
	return lines, sound, looked, nil
}

// all is more than a file has.
const all = 1 << 60

// Said returns the whole lines of a room in the order of the stream, from an offset on.
func Said(home, room string, from int64) ([]byte, error) {
	text, _, err := tail(Path(home, room), from, all)
	return text[:bytes.LastIndexByte(text, '\n')+1], err
}

// tail returns at most so many bytes of a file from an offset on, and how the file looked. A file that is missing or
// shorter has no bytes there.
func tail(path string, from, most int64) (text []byte, looked fs.FileInfo, err error) {
	f, fi, err := durable.OpenRegular(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.NewSectionReader(f, from, min(most, max(0, fi.Size()-from))))
	return text, fi, err
}

var mention = pattern.Lazy(`hash=([0-9a-f]{12,64})`)

// item makes an item of lines. here says that they stand in the file in chats, behind the lines of all hosts.
func (s *round) item(room string, lines []byte, here bool) (part item, err error) {
	part = item{Room: room, Here: here, lines: lines}
	for _, m := range mention().FindAllSubmatch(lines, -1) {
		if hash, err := s.Store.Resolve(string(m[1])); err == nil {
			part.Files = append(part.Files, hash)
		}
	}
	return part, s.enlarge(&part)
}

// enlarge stores the lines of an item by themselves if they are long.
func (s *round) enlarge(part *item) error {
	if part.Large = (blobs.Hash{}); len(part.lines) <= maxAdded {
		return nil
	}
	part.Large = blobs.Sum(part.lines)
	return s.Streams.PutLarge(s.ctx, Stream, part.Large, part.lines)
}

// deliver brings the lines that a step adds to a room into its file in chats. again says that it may have been done.
func (s *round) deliver(room string, added *add, again bool) error {
	path := chat.Path(s.Dir, room)
	rest, whole := bytes.CutPrefix(added.Lines, added.Mine)
	delivered := slices.Concat(added.Lines, added.Waits)
	nothingWaits := whole && len(added.Waits) == 0
	appended := again && nothingWaits
	nothingNew := whole && len(rest) == 0
	for {
		there, looked, err := tail(path, added.At, all)
		switch {
		case err != nil:
			return err
		case !s.sound(room, added.At): // somebody changed the past: the next look finds the new lines
			return nil
		case nothingNew, again && bytes.HasPrefix(there, delivered):
			return nil
		case whole && bytes.Equal(there, added.Mine):
			end, err := durable.AppendUnsynced(path, rest, 0o600) // what a power loss takes, the next process puts back
			if err != nil || end == added.At+int64(len(added.Lines)) {
				return err
			}
			appended = true // but somebody was faster
			continue
		}
		pending := bytes.TrimPrefix(there, added.Mine)
		if before, after, found := bytes.Cut(pending, rest); appended && found {
			pending = append(bytes.Clone(before), after...)
		} else if appended && bytes.HasPrefix(rest, pending) { // cut short
			pending = nil
		}
		if done, err := s.rewrite(room, pending, looked); done || err != nil {
			return err
		}
	}
}

// sound reports whether the files of a room in chats and in share have the same 4,096 bytes before an offset, and at the
// first look of a process maxAdded bytes: a power loss may have left a hole further up.
func (s *round) sound(room string, at int64) bool {
	size := int64(4096)
	if _, known := s.looks[room]; !known {
		size = maxAdded
	}
	from := max(0, at-size)
	mine, _, err := tail(Path(s.Dir, room), from, at-from)
	if err != nil || int64(len(mine)) != at-from {
		return false
	}
	theirs, _, err := tail(chat.Path(s.Dir, room), from, at-from)
	return err == nil && bytes.Equal(mine, theirs)
}
