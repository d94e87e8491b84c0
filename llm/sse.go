package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds on what a server may make this process hold.
const (
	maxLine  = 16 << 20 // bytes of one line, and of one event of several
	maxReply = 64 << 20 // bytes of one assembled reply; 384K tokens are about 2 MB
)

// stream turns whatever a server sends under a 200 into the event stream that
// the library can read: one "data: {…}" line an event, and a clean end only
// after a finish reason and [DONE]. Every other end is an *Error or the
// connection's own. It accepts comments, any line ending, a missing space after
// the colon, a missing last newline, missing blank lines between events, and
// events of several data lines.
type stream struct {
	src    io.Closer
	lines  lineReader
	redact func(string) string
	decode decoder

	out     []byte // ready for the library
	err     error  // what follows out
	data    []byte // data lines of an event that is not complete
	event   string // its event field
	begun   bool   // a field has been seen: this is an event stream
	touched bool   // anything at all has been seen
}

func newStream(src io.ReadCloser, redact func(string) string) *stream {
	return &stream{src: src, lines: lineReader{from: bufio.NewReaderSize(src, 32<<10)}, redact: redact}
}

func (s *stream) Close() error { return s.src.Close() }

func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.step()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// step takes one line.
func (s *stream) step() {
	line, err := s.lines.next()
	if errors.Is(err, errLongLine) {
		s.fail(garbage("a line of the stream is larger than %d MB", maxLine>>20))
		return
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = broken(err) // half a line of a broken connection says nothing
		return
	}
	if !s.touched {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	s.touched = s.touched || len(line) > 0
	s.line(line)
	if err == nil || s.err != nil {
		return
	}
	s.dispatch()
	if s.err == nil {
		s.fail(s.ending())
	}
}

// ending judges a clean end of the connection without [DONE].
func (s *stream) ending() *Error {
	switch {
	case !s.touched:
		return garbage("the answer is empty")
	case s.decode.finished:
		return &Error{Kind: Truncated, Message: "stream ended without [DONE]"}
	}
	return &Error{Kind: Truncated, Message: "stream ended without a finish reason"}
}

func (s *stream) fail(e *Error) { s.err = e }

func garbage(format string, args ...any) *Error {
	return &Error{Kind: Garbage, Message: clean(fmt.Sprintf(format, args...), maxMessage)}
}

// line interprets one line.
func (s *stream) line(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		s.dispatch()
		return
	}
	if line[0] == ':' {
		return // a keep-alive: the idle timer has seen its bytes
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch string(field) {
	case "data":
		s.begun = true
		s.addData(bytes.TrimSpace(value))
	case "event":
		s.begun = true
		s.event = string(bytes.TrimSpace(value))
	case "id", "retry":
		s.begun = true
	default:
		s.stray(line)
	}
}

// addData dispatches a value that is complete by itself at once, since some
// servers put no blank line between events, and collects any other.
func (s *stream) addData(value []byte) {
	switch {
	case len(value) == 0:
		return
	case len(s.data) == 0 && (isDone(value) || json.Valid(value)):
		s.handle(value)
		s.event = ""
		return
	case len(s.data)+len(value) >= maxLine:
		s.fail(garbage("an event of the stream is larger than %d MB", maxLine>>20))
		return
	}
	if len(s.data) > 0 {
		s.data = append(s.data, '\n')
	}
	s.data = append(s.data, value...)
}

func isDone(value []byte) bool { return string(value) == "[DONE]" }

// dispatch ends an event of several data lines.
func (s *stream) dispatch() {
	if len(s.data) > 0 {
		data := s.data
		s.data = nil
		s.handle(data)
	}
	s.event = ""
}

// handle takes one whole event.
func (s *stream) handle(data []byte) {
	if isDone(data) {
		if !s.decode.finished {
			s.fail(&Error{Kind: Truncated, Message: "[DONE] without a finish reason"})
			return
		}
		s.out, s.err = append(s.out, "data: [DONE]\n\n"...), io.EOF
		return
	}
	if s.event == "error" {
		p, ok := parseProblem(data)
		if !ok {
			p = problem{message: string(data)}
		}
		s.fail(p.error(0, s.redact))
		return
	}
	event, err := s.decode.event(data)
	if p, ok := errors.AsType[*problemError](err); ok {
		s.fail(p.problem.error(0, s.redact))
		return
	}
	if err != nil {
		s.fail(garbage("unreadable event in the stream: %s", s.redact(string(data[:min(len(data), 4096)]))))
		return
	}
	if event != nil {
		s.out = fmt.Appendf(s.out, "data: %s\n\n", event)
	}
}

// stray is a line outside the protocol. As the first one it means that the
// answer is no event stream at all; later it counts only if it tells an error.
func (s *stream) stray(line []byte) {
	if s.begun {
		if p, ok := parseProblem(line); ok {
			s.fail(p.error(0, s.redact))
		}
		return
	}
	text := append(bytes.Clone(line[:min(len(line), maxErrorBody)]), '\n')
	for len(text) < maxErrorBody {
		more, err := s.lines.next()
		text = append(append(text, more[:min(len(more), maxErrorBody)]...), '\n')
		if err != nil && !errors.Is(err, io.EOF) {
			s.err = broken(err)
			return
		}
		if err != nil {
			break
		}
	}
	if p, ok := parseProblem(text); ok {
		s.fail(p.error(0, s.redact))
		return
	}
	s.fail(garbage("answer is no event stream: %s", s.redact(plainText(text))))
}

var errLongLine = errors.New("line too long")

// lineReader cuts lines at \n, \r\n and \r, without waiting for the byte after
// a \r.
type lineReader struct {
	from   *bufio.Reader
	buf    []byte
	skipLF bool
}

// next returns a line, valid until the following call. With an error comes what
// was left.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		if _, err := l.from.Peek(1); err != nil {
			return l.buf, err
		}
		ready, _ := l.from.Peek(l.from.Buffered()) // cannot fail: it is buffered
		if l.skipLF {
			l.skipLF = false
			if ready[0] == '\n' {
				l.from.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(ready, "\r\n")
		piece := ready
		if end >= 0 {
			piece = ready[:end]
		}
		if len(l.buf)+len(piece) > maxLine {
			return nil, errLongLine
		}
		l.buf = append(l.buf, piece...)
		if end >= 0 {
			l.skipLF = ready[end] == '\r'
			l.from.Discard(end + 1)
			return l.buf, nil
		}
		l.from.Discard(len(ready))
	}
}
