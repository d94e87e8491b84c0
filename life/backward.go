package life

import (
	"errors"
	"io"
)

var errStart = errors.New("start of file")

// backward reads a file line by line from its end.
type backward struct {
	r    io.ReaderAt
	from int64  // the file before this offset is not in buf yet
	buf  []byte // what follows it and is not handed out yet

	line string // what prev returns next
	at   int64  // its offset
	err  error
}

func newBackward(r io.ReaderAt, size int64) *backward {
	b := &backward{r: r, from: size}
	b.line, b.at, b.err = b.cut()
	return b
}

// prev returns the line before the last one returned, with its newline if it has one,
// and the place where it begins; errStart at the beginning of the file.
func (b *backward) prev() (line string, at Mark, err error) {
	if b.err != nil {
		return "", Mark{Offset: b.at}, b.err
	}
	line, at.Offset = b.line, b.at
	b.line, b.at, b.err = b.cut()
	_, at.Sum, _ = split(b.line) // none at the start of the file, or where it is damaged
	return line, at, nil
}

// cut takes the last line off the part of the file that is left.
func (b *backward) cut() (line string, start int64, err error) {
	const chunk = 64 << 10
	searched := 0 // bytes at the end of buf that hold no newline
	for {
		// A newline at the very end belongs to the line itself.
		for i := len(b.buf) - 2 - searched; i >= 0; i-- {
			if b.buf[i] == '\n' {
				line := string(b.buf[i+1:])
				b.buf = b.buf[:i+1]
				return line, b.from + int64(i) + 1, nil
			}
		}
		if b.from == 0 {
			if len(b.buf) == 0 {
				return "", 0, errStart
			}
			line := string(b.buf)
			b.buf = nil
			return line, 0, nil
		}
		if searched = max(0, len(b.buf)-1); searched > maxLine {
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
