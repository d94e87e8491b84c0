package chat

import (
	"bytes"
	"errors"
	"io"
)

// maxLine is how much of one line is ever held: 64 MiB. What exceeds it stays
// in the file and is not heard. It bounds memory against a writer that never
// sends a newline.
const maxLine = 64 << 20

// scanner walks the whole lines of a file. A last line without newline is not
// one: see rest.
type scanner struct {
	src   io.ReaderAt
	limit int // longest line kept, in bytes

	// The current line: raw without its newline, valid until the next call,
	// and its bytes [from, to) in the file, newline included.
	raw      []byte
	from, to int64
	cut      bool // the line was longer than limit; raw is its beginning
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
	s.raw, s.cut = s.buf[s.used:nl], false
	if len(s.raw) > s.limit {
		s.raw, s.cut = s.raw[:s.limit], true
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
	if err != nil {
		s.eof = true
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
	}
	return n > 0
}

// skip hands out the beginning of a line that is too long to be held, and
// looks for its end without keeping it.
func (s *scanner) skip() bool {
	start := s.pos + int64(s.used)
	raw := bytes.Clone(s.buf[s.used : s.used+s.limit])
	at := s.pos + int64(len(s.buf))
	chunk := make([]byte, 64<<10)
	for {
		n, err := s.src.ReadAt(chunk, at)
		if nl := bytes.IndexByte(chunk[:n], '\n'); nl >= 0 {
			s.raw, s.cut = raw, true
			s.from, s.to = start, at+int64(nl)+1
			s.buf, s.used, s.pos = s.buf[:0], 0, s.to
			return true
		}
		if err != nil {
			s.eof = true
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return false
		}
		at += int64(n)
	}
}

// rest is what follows the last whole line, once next has said false.
func (s *scanner) rest() []byte { return s.buf[s.used:] }
