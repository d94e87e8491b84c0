package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// scanner walks the whole lines of a file. A last line without newline is not
// one: see rest.
type scanner struct {
	src   io.ReaderAt
	limit int // longest line kept, in bytes

	// The current line: raw without its newline, valid until the next call,
	// and its bytes [from, to) in the file, newline included.
	raw      []byte
	from, to int64
	cut      bool // the line was longer than limit; raw is its beginning, with a mark
	err      error

	buf  []byte // bytes of the file from pos; buf[:used] have been handed out
	used int
	pos  int64
	eof  bool
}

func newScanner(src io.ReaderAt, from int64, limit int) *scanner {
	return &scanner{src: src, limit: limit, from: from, to: from, pos: from}
}

// next goes to the next whole line; false at the end or on err.
func (s *scanner) next() bool {
	for seen := s.used; ; {
		if n := bytes.IndexByte(s.buf[seen:], '\n'); n >= 0 {
			s.take(seen + n)
			return true
		}
		if len(s.buf)-s.used > s.limit {
			return s.skip()
		}
		seen = len(s.buf) - s.used // fill moves the line to the front
		if !s.fill() {
			return false
		}
	}
}

// take hands out the line that ends before the newline at buf[nl].
func (s *scanner) take(nl int) {
	s.raw, s.cut = s.buf[s.used:nl], nl-s.used > s.limit
	if s.cut {
		s.raw = mark(s.raw, s.limit, int64(len(s.raw)))
	}
	s.from, s.to = s.pos+int64(s.used), s.pos+int64(nl)+1
	s.used = nl + 1
}

// fill reads more behind the bytes that are not yet handed out. False at the
// end of the file.
func (s *scanner) fill() bool {
	if s.eof || s.err != nil {
		return false
	}
	kept := copy(s.buf, s.buf[s.used:])
	s.pos += int64(s.used)
	s.used = 0
	size := max(cap(s.buf), 64<<10)
	if kept > size/2 {
		size *= 2
	}
	if size > cap(s.buf) {
		grown := make([]byte, size)
		copy(grown, s.buf[:kept])
		s.buf = grown
	}
	n, err := s.src.ReadAt(s.buf[kept:size], s.pos+int64(kept))
	s.buf = s.buf[:kept+n]
	s.end(err)
	return n > 0
}

// skip hands out the beginning of a line that is too long to be held, and
// looks for its end without keeping it. Holes of the file hold none and are
// passed over unread.
func (s *scanner) skip() bool {
	start := s.pos + int64(s.used)
	raw := bytes.Clone(s.buf[s.used : s.used+s.limit])
	at := s.pos + int64(len(s.buf))
	chunk := make([]byte, 64<<10)
	for {
		if f, ok := s.src.(io.Seeker); ok {
			data, err := f.Seek(at, unix.SEEK_DATA)
			if errors.Is(err, unix.ENXIO) { // only a hole follows, or nothing
				return !s.end(io.EOF)
			}
			at = max(at, data)
		}
		n, err := s.src.ReadAt(chunk, at)
		if nl := bytes.IndexByte(chunk[:n], '\n'); nl >= 0 {
			s.from, s.to = start, at+int64(nl)+1
			s.raw, s.cut = mark(raw, s.limit, s.to-1-start), true
			s.buf, s.used, s.pos = s.buf[:0], 0, s.to
			return true
		}
		if s.end(err) {
			return false
		}
		at += int64(n)
	}
}

// end notes that reading has ended, at the end of the file or with an error.
func (s *scanner) end(err error) bool {
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.eof = s.eof || err != nil
	return s.eof
}

// rest is what follows the last whole line, once next has said false.
func (s *scanner) rest() []byte { return s.buf[s.used:] }
