package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Examination is a file of lines and questions; cmd/lab/answers.md describes it.
type Examination struct {
	Talk  Conversation // without its questions
	Asked []Answerable
}

// Answerable is a question with its answer.
type Answerable struct {
	Question string   `json:"question"`
	Answer   string   `json:"answer"`   // "" if the lines do not say it
	Evidence []string `json:"evidence"` // ids of lines
	Kind     string   `json:"kind"`     // to count by; may be empty
}

// ReadExamination reads a file. The error names its line.
func ReadExamination(in io.Reader) (e Examination, err error) {
	ids := map[string]bool{}
	err = readRows(in, func(row examinedRow) error { return e.read(row, ids) })
	if err == nil && (len(e.Talk.Lines) == 0 || len(e.Asked) == 0) {
		err = errors.New("it has no lines, or no questions")
	}
	slices.SortStableFunc(e.Talk.Lines, func(a, b Line) int { return a.At.Compare(b.At) })
	return e, err
}

// readRows calls f with each line of a file of JSON. The error names the line.
func readRows[T any](in io.Reader, f func(T) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var row T
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&row)
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// examinedRow is a line of an examination: a line of the talk, or a question.
type examinedRow struct {
	Answerable
	ID, Speaker, Text string
	Agent             bool
	Time              time.Time
}

// Convert writes a conversation as an Examination is read.
func (c Conversation) Convert(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, l := range c.Lines {
		row := map[string]any{"id": l.ID, "speaker": l.Speaker, "time": l.At, "text": l.Text}
		if l.Agent {
			row["agent"] = true
		}
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	for _, q := range c.Questions {
		if err := enc.Encode(Answerable{q.Text, q.Answer, q.Evidence, categoryName(q.Category)}); err != nil {
			return err
		}
	}
	return nil
}

func (e *Examination) read(row examinedRow, ids map[string]bool) error {
	if row.Question == "" {
		isWhole := row.ID != "" && row.Speaker != "" && row.Text != "" && !row.Time.IsZero()
		if !isWhole || ids[row.ID] {
			return errors.New("a line has an id of its own, a speaker, a time and a text, or it is a question")
		}
		ids[row.ID] = true
		e.Talk.Lines = append(e.Talk.Lines, Line{row.ID, row.Speaker, row.Agent, row.Text, row.Time})
		return nil
	}
	for _, id := range row.Evidence {
		if !ids[id] {
			return fmt.Errorf("its evidence %q is no line before it", id)
		}
	}
	e.Asked = append(e.Asked, row.Answerable)
	return nil
}
