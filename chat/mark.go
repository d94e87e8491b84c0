package chat

import (
	"errors"
	"fmt"
	"io/fs"
)

// Mark is where a room ended at some moment, as an intent to post records it: a file of this machine and its size. Only
// this package looks into it, so that a Mark which another machine can read, too, may get a form of its own.
type Mark struct {
	Inode uint64 `json:"inode"` // 0 for a room that was missing
	From  int64  `json:"from"`
}

// String returns the form that ParseMark reads.
func (m Mark) String() string { return fmt.Sprintf("%d:%d", m.Inode, m.From) }

// ParseMark reads a mark. No other text says the same.
func ParseMark(text string) (m Mark, err error) {
	if _, err := fmt.Sscanf(text, "%d:%d", &m.Inode, &m.From); err != nil || m.String() != text || m.From < 0 {
		return m, fmt.Errorf("%q is not the end of a room", text)
	}
	return m, nil
}

// Size is how many bytes the room had.
func (m Mark) Size() int64 { return m.From }

// End returns where the room at path ends: what to record with the intent to post. It is
// the zero Mark when the room is missing.
func End(path string) (Mark, error) {
	f, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Mark{}, nil
	}
	if err != nil {
		return Mark{}, err
	}
	defer f.Close()
	return Mark{inodeOf(fi), fi.Size()}, nil
}

// Mark is where c stands.
func (c Cursor) Mark() Mark { return Mark{c.Inode, c.Offset} }

// AtEnd reports whether the room at path has nothing behind c.
func (c Cursor) AtEnd(path string) bool {
	end, err := End(path)
	return err == nil && (end.From == 0 || end == c.Mark())
}

// SameFile reports whether two cursors stand in the same file; one at the start stands in any.
func (c Cursor) SameFile(o Cursor) bool { return c.Inode == o.Inode || c.Offset == 0 }

// Since returns the lines of the room at path from a mark on that begin before an offset; none if the
// room has been replaced since, or cannot be read.
func Since(path string, m Mark, before int64) (lines []Line) {
	if end, err := End(path); err != nil || end.Inode != m.Inode {
		return nil
	}
	lines, _ = scanLines(path, m.From, said, func(_ []Line, next Line) bool { return next.From < before })
	return lines
}
