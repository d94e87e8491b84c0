package chat

import (
	"errors"
	"fmt"
	"io/fs"
)

// Mark is the end of a room at some moment, which an intent to post records: a file of this machine and its size. Only
// this package looks into it, so that it may get another form that other machines can read, too.
type Mark struct {
	Inode uint64 `json:"inode"` // 0 for a room that was missing
	From  int64  `json:"from"`
}

// String returns the form that ParseMark reads.
func (m Mark) String() string { return fmt.Sprintf("%d:%d", m.Inode, m.From) }

// ParseMark reads a mark. It returns an error for any text that String does not write.
func ParseMark(text string) (mark Mark, err error) {
	_, err = fmt.Sscanf(text, "%d:%d", &mark.Inode, &mark.From)
	canonical := err == nil && mark.String() == text
	if !canonical || mark.From < 0 {
		return mark, fmt.Errorf("%q is not the end of a room", text)
	}
	return mark, nil
}

// Size returns the number of bytes that the room had.
func (m Mark) Size() int64 { return m.From }

// End returns the present end of the room at path, to be recorded with an intent to post. It
// is the zero Mark if the room is missing.
func End(path string) (Mark, error) {
	file, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Mark{}, nil
	}
	if err != nil {
		return Mark{}, err
	}
	defer file.Close()
	return Mark{inodeOf(fi), fi.Size()}, nil
}

// Mark returns the place of c.
func (c Cursor) Mark() Mark { return Mark{c.Inode, c.Offset} }

// AtEnd reports whether the room at path has nothing behind c. It returns false if the room cannot be read.
func (c Cursor) AtEnd(path string) bool {
	end, err := End(path)
	if err != nil {
		return false
	}
	return end.From == 0 || end == c.Mark()
}

// SameFile reports whether c and other are in the same file. If c is at the start, it may be in any file.
func (c Cursor) SameFile(other Cursor) bool { return c.Inode == other.Inode || c.Offset == 0 }

// Since returns the lines of the room at path behind a mark that begin before an offset. It returns nil if
// the room has been replaced since, or cannot be read.
func Since(path string, mark Mark, before int64) (lines []Line) {
	if before <= mark.From { // as after most posts
		return nil
	}
	if end, err := End(path); err != nil || end.Inode != mark.Inode {
		return nil
	}
	lines, _ = scanLines(path, mark.From, said, func(_ []Line, next Line) bool { return next.From < before })
	return lines
}
