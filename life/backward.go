package life

import (
	"bytes"
	"io"
)

// backwards calls f for each line of the first size bytes of a file, the newest first,
// until f returns false. A line has its newline, if there is one, and at is the place
// where it begins: it has no checksum at the start of the file, or behind a damaged line.
func backwards(r io.ReaderAt, size int64, path string, f func(line string, at Mark) (more bool)) error {
	b := backward{r: r, from: size}
	line, offset, err := b.cut()
	for line != "" {
		before, start, failure := b.cut()
		_, sum, _ := split(before)
		if !f(line, Mark{offset, sum}) {
			return nil
		}
		line, offset, err = before, start, failure
	}
	if err != nil {
		return failed(path, offset, err)
	}
	return nil
}

// backward takes a file apart from its end.
type backward struct {
	r    io.ReaderAt
	from int64  // the file before this offset is not in buf yet
	buf  []byte // what follows it and is not handed out yet
}

// cut takes the last line off the part of the file that is left; it is "" at its start.
func (b *backward) cut() (line string, start int64, err error) {
	const chunk = 64 << 10
	searched := 0 // bytes at the end of buf that hold no newline
	for {
		before := max(0, len(b.buf)-1) // a newline at the very end belongs to the line itself
		at := bytes.LastIndexByte(b.buf[:before-searched], '\n') + 1
		if at > 0 || b.from == 0 {
			line := string(b.buf[at:])
			b.buf = b.buf[:at]
			return line, b.from + int64(at), nil
		}
		if searched = before; searched > maxLine {
			return "", b.from, ErrLongLine
		}
		n := min(b.from, max(chunk, int64(len(b.buf)))) // doubling keeps a long line linear
		grown := make([]byte, n, n+int64(len(b.buf)))
		if _, err := b.r.ReadAt(grown, b.from-n); err != nil {
			return "", b.from, err
		}
		b.buf = append(grown, b.buf...)
		b.from -= n
	}
}
