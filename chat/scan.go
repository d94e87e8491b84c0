package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxLine is the most bytes of one line that a reader holds: 2 MiB. The rest stays
// in the file, and a mark tells so. It bounds memory against a writer that never
// sends a newline.
const maxLine = 2 << 20

// markLen is the most bytes that the mark of a cut line takes.
const markLen = 96

// mark cuts line, the beginning of a line of length bytes, to limit bytes, and ends
// it with a mark that tells the number of missing bytes.
func mark(line []byte, limit int, length int64) []byte {
	keep := limit - markLen
	for keep > 0 && !utf8.RuneStart(line[keep]) {
		keep--
	}
	missing := length - int64(keep)
	return fmt.Appendf(line[:keep], " … [the other %d bytes of this line are only in the room's file]", missing)
}

// scanner walks the whole lines of a file.
type scanner struct {
	file  io.ReaderAt
	ahead *bufio.Reader
	limit int // the longest line that is kept whole, in bytes

	// The current line: raw without its newline, valid until the next call,
	// and its bytes [from, to) in the file, newline included. Once next has
	// returned false, raw is the beginning of the unfinished last line.
	raw      []byte
	from, to int64
	cut      bool // the line was longer than limit; raw is its beginning, with a mark
	err      error
}

func newScanner(file io.ReaderAt, from int64, limit int) *scanner {
	lines := &scanner{file: file, ahead: bufio.NewReaderSize(nil, 64<<10), limit: limit, from: from, to: from}
	lines.seek(from)
	return lines
}

// newLineScanner returns a scanner of the lines that begin at or behind from. ok is false if no line begins there.
func newLineScanner(file io.ReaderAt, from int64, limit int) (s *scanner, ok bool) {
	s = newScanner(file, max(from-1, 0), limit) // if a newline stands just before from, a line begins at from
	return s, from == 0 || s.next()
}

func (s *scanner) seek(at int64) { s.ahead.Reset(io.NewSectionReader(s.file, at, math.MaxInt64-at)) }

// next advances to the next whole line. It returns false at the end of the file, or after an error, which is then in
// err.
func (s *scanner) next() bool {
	s.raw = s.raw[:0]
	length := int64(0) // the line's bytes so far, newline included
	for {
		part, err := s.ahead.ReadSlice('\n')
		length += int64(len(part))
		s.raw = append(s.raw, part[:min(len(part), s.limit+1-len(s.raw))]...)
		switch {
		case err == nil:
			s.from, s.to = s.to, s.to+length
			if s.cut = length-1 > int64(s.limit); s.cut {
				s.raw = mark(s.raw, s.limit, length-1)
			} else {
				s.raw = s.raw[:length-1]
			}
			return true
		case err != bufio.ErrBufferFull:
			if err != io.EOF {
				s.err = err
			}
			return false
		case length > int64(s.limit):
			length = s.pass(s.to+length) - s.to
		}
	}
}

// pass skips a hole at an offset, since a hole has no newline. It returns the offset of the
// next data.
func (s *scanner) pass(at int64) int64 {
	seeker, ok := s.file.(io.Seeker)
	if !ok {
		return at
	}
	data, err := seeker.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // only a hole follows, or nothing
		data, err = seeker.Seek(0, io.SeekEnd)
	}
	if err != nil || data <= at {
		return at
	}
	s.seek(data)
	return data
}
