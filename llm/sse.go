package llm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds on what a server may make this process hold.
const (
	maxLine  = 16 << 20 // bytes of one line
	maxReply = 64 << 20 // bytes of one assembled reply; 384K tokens are about 2 MB
)

// stream turns whatever a server sends under a 200 into the event stream that
// the library can read: one "data: {…}" line an event, and [DONE] once there was a finish reason,
// however the connection ends then. Every other end is an *Error. It accepts comments,
// a missing space after the colon, a missing last newline, and missing blank lines
// between events.
type stream struct {
	src    io.Closer
	in     *bufio.Reader
	redact func(string) string
	alive  func(finished bool) // told of each event that brings something

	out      []byte // ready for the library
	err      error  // what follows out
	touched  bool   // anything has been seen
	begun    bool   // a field has been seen: this is an event stream
	finished bool   // a finish reason has been seen
	calls    int    // calls begun, to number those that come without an index
}

func newStream(src io.ReadCloser, redact func(string) string, alive func(finished bool)) *stream {
	return &stream{src: src, in: bufio.NewReader(src), redact: redact, alive: alive}
}

func (s *stream) Close() error { return s.src.Close() }

func (s *stream) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		if s.err = s.step(); s.err != nil && s.finished { // an answer with a finish reason is complete, whatever ends it
			s.out, s.err = append(s.out, "data: [DONE]\n\n"...), io.EOF
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// step takes one line.
func (s *stream) step() error {
	line, err := s.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.touched = s.touched || len(line) > 0
	if lineErr := s.line(line); lineErr != nil || err == nil {
		return lineErr
	}
	if !s.touched { // a clean end of the connection
		return garbage("the answer is empty")
	}
	return &Error{Kind: Truncated, Message: "stream ended without a finish reason"}
}

// next returns a line without its end. With io.EOF comes what was left.
func (s *stream) next() ([]byte, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, garbage("a line of the stream is larger than %d MB", maxLine>>20)
		case err == nil || errors.Is(err, io.EOF):
			return bytes.TrimSpace(line), err
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, broken(err) // half a line of a broken connection says nothing
		}
	}
}

func garbage(format string, args ...any) *Error {
	return &Error{Kind: Garbage, Message: clean(fmt.Sprintf(format, args...), maxMessage)}
}

// line interprets one line.
func (s *stream) line(line []byte) error {
	if len(line) == 0 || line[0] == ':' {
		return nil // a keep-alive, of which only the idle timer has seen the bytes
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "data":
		s.begun = true
		return s.data(value)
	case "event", "id", "retry":
		s.begun = true
		return nil
	}
	return s.stray(line)
}

// data takes one whole event.
func (s *stream) data(value []byte) error {
	switch string(value) {
	case "":
		return nil
	case "[DONE]":
		return &Error{Kind: Truncated, Message: "[DONE] without a finish reason"}
	}
	return s.event(value)
}

// stray is a line outside the protocol. As the first one it means that the
// answer is no event stream at all; later it counts only if it tells an error.
func (s *stream) stray(line []byte) error {
	if !s.begun {
		rest, err := io.ReadAll(io.LimitReader(s.in, maxErrorBody))
		if err != nil {
			return broken(err)
		}
		line = append(append(line, '\n'), rest...)
	}
	if p, ok := parseProblem(line); ok {
		return p.error(0, s.redact)
	}
	if s.begun {
		return nil
	}
	return garbage("answer is no event stream: %s", s.redact(plainText(line)))
}
