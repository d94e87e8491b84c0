package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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

// Trace yields the items of a recorded history. After an error it ends.
type Trace = iter.Seq2[Item, error]

// Read reads a trace: one JSON object a line, {"kind":"user|asst|tool","text":"…"}.
// Blank lines and fields of other names are passed over, so that a log with times or
// costs in it can be replayed as it is. It holds one line at a time. Errors name the
// line, from 1.
func Read(r io.Reader) Trace {
	return func(yield func(Item, error) bool) {
		lines, n := bufio.NewScanner(r), 1
		lines.Buffer(nil, MaxLine)
		for ; lines.Scan(); n++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			item, err := parseItem(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("read trace: line %d: %w", n, err)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d MB", MaxLine>>20)
		}
		if err != nil {
			yield(Item{}, fmt.Errorf("read trace: line %d: %w", n, err))
		}
	}
}

func parseItem(line []byte) (Item, error) {
	var item struct {
		Kind string  `json:"kind"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(line, &item); err != nil {
		return Item{}, fmt.Errorf("not an object with kind and text: %w", err)
	}
	if item.Kind != User && item.Kind != Asst && item.Kind != Tool {
		return Item{}, fmt.Errorf("kind %q is none of user, asst, tool", item.Kind)
	}
	if item.Text == nil {
		return Item{}, errors.New(`no "text"`)
	}
	return Item{item.Kind, *item.Text}, nil
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

// steps groups the items of a trace. A result that no answer precedes belongs to one
// without words.
func steps(trace Trace) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		var st step
		for item, err := range trace {
			if err != nil {
				yield(st, err)
				return
			}
			if st.answered && item.Kind != Tool {
				if !yield(st, nil) {
					return
				}
				st = step{}
			}
			switch item.Kind {
			case User:
				st.users = append(st.users, item.Text)
			case Asst:
				st.answered, st.answer = true, item.Text
			default:
				st.answered = true
				st.results = append(st.results, item.Text)
			}
		}
		if st.answered || len(st.users) > 0 {
			yield(st, nil)
		}
	}
}

// of is a trace in memory.
func of(items []Item) Trace {
	return func(yield func(Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}
