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

// maxLine is how much of one line is ever held: 2 MiB. What exceeds it stays
// in the file, and a mark says so. It bounds memory against a writer that never
// sends a newline.
const maxLine = 2 << 20

// markLen is what the mark of a cut line takes at most, in bytes.
const markLen = 96

// mark makes line the beginning of a line of length bytes, of which at most limit
// are kept, and says at its end how many are missing.
func mark(line []byte, limit int, length int64) []byte {
	keep := limit - markLen
	for keep > 0 && !utf8.RuneStart(line[keep]) {
		keep--
	}
	return fmt.Appendf(line[:keep], " … [the other %d bytes of this line are only in the room's file]", length-int64(keep))
}

// scanner walks the whole lines of a file.
type scanner struct {
	file  io.ReaderAt
	ahead *bufio.Reader
	limit int // longest line kept, in bytes

	// The current line: raw without its newline, valid until the next call,
	// and its bytes [from, to) in the file, newline included. Once next has
	// said false, raw begins what follows the last whole line.
	raw      []byte
	from, to int64
	cut      bool // the line was longer than limit; raw is its beginning, with a mark
	err      error
}

func newScanner(file io.ReaderAt, from int64, limit int) *scanner {
	s := &scanner{file: file, ahead: bufio.NewReaderSize(nil, 64<<10), limit: limit, from: from, to: from}
	s.seek(from)
	return s
}

// newLineScanner is a scanner of the lines that begin at or behind from, if there may be one.
func newLineScanner(file io.ReaderAt, from int64, limit int) (s *scanner, ok bool) {
	s = newScanner(file, max(from-1, 0), limit) // a newline just before from means that a line begins there
	return s, from == 0 || s.next()
}

func (s *scanner) seek(at int64) { s.ahead.Reset(io.NewSectionReader(s.file, at, math.MaxInt64-at)) }

// next goes to the next whole line; false at the end or on err.
func (s *scanner) next() bool {
	s.raw = s.raw[:0]
	length := int64(0) // of the line, newline included
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

// pass goes on where the data of the file does, at or behind an offset: a hole holds
// no newline, and is not read.
func (s *scanner) pass(at int64) int64 {
	f, ok := s.file.(io.Seeker)
	if !ok {
		return at
	}
	data, err := f.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // only a hole follows, or nothing
		data, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil || data <= at {
		return at
	}
	s.seek(data)
	return data
}
