package life

import (
	"errors"
	"fmt"
	"io"
)

var errStart = errors.New("start of file")

// maxLine bounds a line of a log, in bytes; the longest that Lethe ever wrote have
// some 3 MiB.
const maxLine = 16 << 20

// longLine says where what is no line was found.
type longLine struct{ offset int64 }

func (longLine) Error() string { return ErrLongLine.Error() }

// failed is the error of reading a log: damage, or what the disk says.
func failed(path string, err error) error {
	if long, ok := errors.AsType[longLine](err); ok {
		return &CorruptError{path, long.offset, err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// backward reads a file line by line from its end.
type backward struct {
	r      io.ReaderAt
	at     int64  // the file before this offset is not in buf yet
	buf    []byte // bytes [at, at+len(buf)) that are not handed out yet
	peeked *peeked
}

// peeked is what prev will return next.
type peeked struct {
	line  string
	start int64
	err   error
}

func newBackward(r io.ReaderAt, size int64) *backward { return &backward{r: r, at: size} }

// prev returns the line before the last one returned, with its newline if it
// has one, and its offset; errStart at the beginning of the file.
func (b *backward) prev() (line string, start int64, err error) {
	if p := b.peeked; p != nil {
		b.peeked = nil
		return p.line, p.start, p.err
	}
	return b.cut()
}

// peek returns what the next prev will.
func (b *backward) peek() (line string, start int64, err error) {
	if b.peeked == nil {
		line, start, err := b.cut()
		b.peeked = &peeked{line, start, err}
	}
	return b.peeked.line, b.peeked.start, b.peeked.err
}

// verify checks the line that prev has just returned against the one before it.
// bad says what is wrong with it, err that the file could not be read.
func (b *backward) verify(line string) (rec record, bad, err error) {
	before, _, err := b.peek()
	if err != nil && err != errStart {
		return record{}, nil, err
	}
	_, prev, ok := split(before)
	if err == nil && !ok {
		return record{}, errors.New("line before has no checksum"), nil
	}
	rec, bad = verify(prev, line)
	return rec, bad, nil
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
				return line, b.at + int64(i) + 1, nil
			}
		}
		if b.at == 0 {
			if len(b.buf) == 0 {
				return "", 0, errStart
			}
			line := string(b.buf)
			b.buf = nil
			return line, 0, nil
		}
		if searched = max(0, len(b.buf)-1); searched > maxLine {
			return "", 0, longLine{b.at}
		}
		n := min(b.at, max(chunk, int64(len(b.buf)))) // doubling keeps a long line linear
		grown := make([]byte, n, n+int64(len(b.buf)))
		if _, err := b.r.ReadAt(grown, b.at-n); err != nil {
			return "", 0, err
		}
		b.buf = append(grown, b.buf...)
		b.at -= n
	}
}
