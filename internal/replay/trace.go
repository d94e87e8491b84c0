package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kinds of trace lines.
const (
	User = "user" // what a person said
	Asst = "asst" // what the model answered: one request
	Tool = "tool" // what a call of the answer before it gave
)

// Item is one line of a trace.
type Item struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// MaxLine bounds one line of a trace, in bytes.
const MaxLine = 64 << 20

// Reader reads a trace: one JSON object a line, {"kind":"user|asst|tool",
// "text":"…"}. Blank lines and fields of other names are passed over, so that a
// log with times or costs in it can be replayed as it is. It holds one line at a
// time.
type Reader struct {
	r    *bufio.Reader
	line int
	buf  []byte
}

// NewReader reads a trace from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next item, or io.EOF. Other errors name the line, from 1.
func (r *Reader) Next() (Item, error) {
	for {
		line, err := r.next()
		if err == io.EOF {
			return Item{}, err
		}
		if err != nil {
			return Item{}, fmt.Errorf("read trace: line %d: %w", r.line, err)
		}
		if blank(line) {
			continue
		}
		item, err := parseItem(line)
		if err != nil {
			return Item{}, fmt.Errorf("read trace: line %d: %w", r.line, err)
		}
		return item, nil
	}
}

// next is the next line, valid until the one after it is asked for.
func (r *Reader) next() ([]byte, error) {
	r.line++
	r.buf = r.buf[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		if len(r.buf)+len(part) > MaxLine {
			return nil, fmt.Errorf("longer than %d MB", MaxLine>>20)
		}
		r.buf = append(r.buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(r.buf) > 0: // a last line without newline
			return r.buf, nil
		default:
			return r.buf, err
		}
	}
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

func parseItem(line []byte) (Item, error) {
	var item struct {
		Kind *string `json:"kind"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(line, &item); err != nil {
		return Item{}, fmt.Errorf("not an object with kind and text: %w", err)
	}
	switch {
	case item.Kind == nil:
		return Item{}, errors.New(`no "kind"`)
	case *item.Kind != User && *item.Kind != Asst && *item.Kind != Tool:
		return Item{}, fmt.Errorf("kind %q is none of user, asst, tool", *item.Kind)
	case item.Text == nil:
		return Item{}, errors.New(`no "text"`)
	}
	return Item{*item.Kind, *item.Text}, nil
}

// Source yields the items of a trace, then io.EOF: a *Reader, or a list.
type Source interface {
	Next() (Item, error)
}

// Items is a trace in memory.
type Items []Item

// Next takes the first item off the list.
func (t *Items) Next() (Item, error) {
	if len(*t) == 0 {
		return Item{}, io.EOF
	}
	item := (*t)[0]
	*t = (*t)[1:]
	return item, nil
}

// A step is one model request: what was said before it, its answer, and what
// the calls of the answer gave. Only the last step of a trace can be without an
// answer.
type step struct {
	users    []string
	answered bool
	answer   string
	results  []string
}

// steps groups the items of a trace.
type steps struct {
	src   Source
	ahead *Item // read, and part of the next step
}

func (s *steps) take() (Item, error) {
	if s.ahead != nil {
		item := *s.ahead
		s.ahead = nil
		return item, nil
	}
	return s.src.Next()
}

// next returns io.EOF after the last step. A result that no answer precedes
// belongs to one without words.
func (s *steps) next() (step, error) {
	var st step
	for {
		item, err := s.take()
		switch {
		case err == io.EOF && (st.answered || len(st.users) > 0):
			return st, nil
		case err != nil:
			return st, err
		case st.answered && item.Kind != Tool:
			s.ahead = &item
			return st, nil
		case item.Kind == User:
			st.users = append(st.users, item.Text)
		case item.Kind == Asst:
			st.answered, st.answer = true, item.Text
		default:
			st.answered = true
			st.results = append(st.results, item.Text)
		}
	}
}
