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
	maxLine  = 16 << 20 // bytes of one line
	maxReply = 64 << 20 // of one assembled reply, about: weighted characters; 384K tokens are some 2 million
)

// stream reads whatever a server sends under a 200 as events. It accepts comments, a missing space after the colon,
// a missing last newline, and missing blank lines between events.
type stream struct {
	lines   *bufio.Scanner
	redact  func(string) string
	touched bool // anything has been seen
	begun   bool // a field has been seen: this is an event stream
	bare    bool // each event is a line of JSON
	whole   bool // it is a whole answer in JSON, in the place of a stream
}

// errDone is the cause of an answer's end where the server says that it is one, and not why.
var errDone = errors.New("the server ended the answer")

func newStream(src io.Reader, redact func(string) string) *stream {
	lines := bufio.NewScanner(src)
	lines.Buffer(nil, maxLine)
	lines.Split(func(data []byte, end bool) (int, []byte, error) {
		if lines.Err() != nil && !bytes.Contains(data, []byte("\n")) {
			return 0, nil, nil // half a line of a broken connection says nothing
		}
		return bufio.ScanLines(data, end)
	})
	return &stream{lines: lines, redact: redact}
}

// next returns the data of an event, which is valid until the following call. An answer that ends, in whatever way,
// is an *Error, which says nothing new to one that has its finish reason.
func (s *stream) next() ([]byte, error) {
	for s.lines.Scan() {
		line := bytes.TrimSpace(s.lines.Bytes())
		s.touched = s.touched || len(line) > 0
		data, err := s.data(line)
		if err != nil || len(data) > 0 {
			return data, err
		}
	}
	switch err := s.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, garbage("a line of the stream is larger than %d MB", maxLine>>20)
	case err != nil:
		return nil, broken(err)
	case !s.touched:
		return nil, garbage("the answer is empty")
	case s.whole:
		return nil, &Error{Kind: Truncated, Message: "the answer has no finish reason", Err: errDone}
	}
	return nil, &Error{Kind: Truncated, Message: "stream ended without a finish reason"}
}

// data returns what a line has of an event. A line outside the protocol means, as the first one, that the answer is no
// event stream at all; later it counts only if it tells an error.
func (s *stream) data(line []byte) ([]byte, error) {
	if len(line) == 0 || line[0] == ':' { // the comments that keep a connection alive
		return nil, nil
	}
	if s.bare && line[0] == '{' {
		s.begun = true
		return line, nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch value = bytes.TrimSpace(value); string(field) {
	case "data":
		s.begun = true
		if string(value) == "[DONE]" {
			return nil, &Error{Kind: Truncated, Message: "[DONE] without a finish reason", Err: errDone}
		}
		return value, nil
	case "event", "id", "retry":
		s.begun = true
		return nil, nil
	}
	if !s.begun {
		most := maxErrorBody
		if line[0] == '{' { // it may be a whole answer
			most = maxLine
		}
		line = bytes.Clone(line) // which the next read would overwrite
		for len(line) < most && s.lines.Scan() {
			line = append(append(line, '\n'), s.lines.Bytes()...)
		}
		if err := s.lines.Err(); err != nil {
			return nil, broken(err)
		}
	}
	if p, ok := parseProblem(line); ok {
		return nil, p.error(0, s.redact)
	}
	if !s.begun && isCompletion(line) {
		s.begun, s.whole = true, true
		return line, nil
	}
	if !s.begun {
		return nil, garbage("answer is no event stream: %s", s.redact(plainText(line)))
	}
	return nil, nil
}

// isCompletion reports whether a text is a whole answer of OpenAI's dialect, which some servers and proxies send where
// a stream was asked for.
func isCompletion(text []byte) bool {
	var answer struct {
		Choices []struct{ Message json.RawMessage }
	}
	err := json.Unmarshal(text, &answer)
	return err == nil && len(answer.Choices) > 0 && answer.Choices[0].Message != nil
}

func garbage(format string, args ...any) *Error {
	return &Error{Kind: Garbage, Message: clean(fmt.Sprintf(format, args...), maxMessage)}
}
