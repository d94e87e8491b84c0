package chat

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// At returns the cursor that stands at offset in the room at path, without the
// lines before it: what a writer knows of the place behind its own line.
func At(path string, offset int64) (Cursor, error) {
	f, fi, err := open(path)
	if err != nil {
		return Cursor{}, fmt.Errorf("read room %s: %w", path, err)
	}
	defer f.Close()
	c := Cursor{Inode: inodeOf(fi), Offset: offset}
	if offset > 0 {
		before, err := bytesBefore(f, offset)
		if err == nil && int64(len(before)) < min(offset, lookBack) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Cursor{}, fmt.Errorf("read room %s: %w", path, err)
		}
		c.Before = digest(before)
	}
	return c, nil
}

// Remember returns c with the lines of text added to Last.
func (c Cursor) Remember(text []byte) Cursor {
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if !blank(trimEOL(line)) {
			lines = append(lines, line)
		}
	}
	last := slices.Clone(c.Last)
	for _, line := range lines[max(0, len(lines)-remembered):] {
		last = append(last, Hash(line))
	}
	c.Last = last[max(0, len(last)-remembered):]
	return c
}
