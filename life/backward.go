package life

import (
	"bytes"
	"io"
)

// backwards calls visit for each line of the first size bytes of a file, the newest
// first, until visit returns false. line includes its newline, if it has one. at is the
// line's beginning; at.Sum is "" at the start of the file and behind a damaged line.
func backwards(file io.ReaderAt, size int64, path string, visit func(line string, at Mark) (more bool)) error {
	rest := backward{r: file, from: size}
	line, offset, err := rest.cut()
	for line != "" {
		before, start, failure := rest.cut()
		_, sum, _ := split(before)
		if !visit(line, Mark{offset, sum}) {
			return nil
		}
		line, offset, err = before, start, failure
	}
	if err != nil {
		return failed(path, offset, err)
	}
	return nil
}

// backward cuts a file into lines from its end.
type backward struct {
	r    io.ReaderAt
	from int64  // the file before this offset was not read yet
	buf  []byte // the bytes from there on that were not cut off yet
}

// cut returns the last line of the rest of the file, and removes it. At the start of the file it returns "".
func (b *backward) cut() (line string, start int64, err error) {
	const chunk = 64 << 10
	searched := 0 // bytes at the end of buf without a newline
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
		count := min(b.from, max(chunk, int64(len(b.buf)))) // doubling keeps a long line linear
		grown := make([]byte, count, count+int64(len(b.buf)))
		if _, err := b.r.ReadAt(grown, b.from-count); err != nil {
			return "", b.from, err
		}
		b.buf = append(grown, b.buf...)
		b.from -= count
	}
}
