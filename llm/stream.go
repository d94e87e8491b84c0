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

// stream reads whatever a server sends under a 200 as events. It accepts comments, a missing space after the colon,
// a missing last newline, and missing blank lines between events.
type stream struct {
	in     *bufio.Reader
	redact func(string) string

	err     error  // what follows the line that was read last
	long    []byte // a line that did not fit into the buffer of in
	touched bool   // anything has been seen
	begun   bool   // a field has been seen: this is an event stream
}

func newStream(src io.Reader, redact func(string) string) *stream {
	return &stream{in: bufio.NewReader(src), redact: redact}
}

// next returns the data of an event, which is valid until the following call. An answer that ends, in whatever way,
// is an *Error, which says nothing new to one that has its finish reason.
func (s *stream) next() ([]byte, error) {
	for s.err == nil {
		var line []byte
		line, s.err = s.line()
		s.touched = s.touched || len(line) > 0
		data, err := s.data(line)
		if err != nil || len(data) > 0 {
			return data, err
		}
	}
	switch {
	case !errors.Is(s.err, io.EOF):
		return nil, s.err
	case !s.touched:
		return nil, garbage("the answer is empty")
	}
	return nil, &Error{Kind: Truncated, Message: "stream ended without a finish reason"}
}

// line returns a line without its end. With io.EOF comes what was left.
func (s *stream) line() ([]byte, error) {
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if len(s.long) > 0 || err != nil {
			s.long = append(s.long, part...)
			part = s.long
		}
		switch {
		case len(part) > maxLine:
			return nil, garbage("a line of the stream is larger than %d MB", maxLine>>20)
		case err == nil || errors.Is(err, io.EOF):
			return bytes.TrimSpace(part), err
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, broken(err) // half a line of a broken connection says nothing
		}
	}
}

// data returns what a line has of an event. A line outside the protocol means, as the first one, that the answer is no
// event stream at all; later it counts only if it tells an error.
func (s *stream) data(line []byte) ([]byte, error) {
	if len(line) == 0 || line[0] == ':' { // the comments that keep a connection alive
		return nil, nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch value = bytes.TrimSpace(value); string(field) {
	case "data":
		s.begun = true
		if string(value) == "[DONE]" {
			return nil, &Error{Kind: Truncated, Message: "[DONE] without a finish reason"}
		}
		return value, nil
	case "event", "id", "retry":
		s.begun = true
		return nil, nil
	}
	if !s.begun {
		line = append(bytes.Clone(line), '\n') // which the next read would overwrite
		rest, err := io.ReadAll(io.LimitReader(s.in, maxErrorBody))
		if err != nil {
			return nil, broken(err)
		}
		line = append(line, rest...)
	}
	if p, ok := parseProblem(line); ok {
		return nil, p.error(0, s.redact)
	}
	if !s.begun {
		return nil, garbage("answer is no event stream: %s", s.redact(plainText(line)))
	}
	return nil, nil
}

func garbage(format string, args ...any) *Error {
	return &Error{Kind: Garbage, Message: clean(fmt.Sprintf(format, args...), maxMessage)}
}
