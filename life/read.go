package life

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/internal/durable"
)

// Epoch is the kind of the event that SinceEpoch looks for.
const Epoch = "epoch"

// SinceEpoch returns the newest epoch event and all that follow it, oldest
// first, each checked against the line before it. It reads the file backwards
// and no further than it must. With no epoch in the log it returns all events.
// A bad line in that range is a *CorruptError.
func (l *Log) SinceEpoch() ([]Event, error) {
	if l.err != nil {
		return nil, fmt.Errorf("read life: %w", l.err)
	}
	return back(l.file, l.end.Offset, l.path, func(e Event) bool { return e.Kind == Epoch })
}

// back returns the newest events of the first size bytes of r, oldest first, back
// to and including the first for which enough is true.
func back(r io.ReaderAt, size int64, path string, enough func(Event) bool) ([]Event, error) {
	var events []Event
	err := verified(r, size, path, func(e Event, _ int64) bool {
		events = append(events, e)
		return !enough(e)
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	return events, nil
}

// verified is backwards for the events of lines that are each checked against the line before.
func verified(r io.ReaderAt, size int64, path string, f func(e Event, offset int64) (more bool)) error {
	var damage error
	c := chain{path: path}
	err := backwards(r, size, path, func(line string, at Mark) bool {
		rec, bad := c.verify(at, line)
		if bad != nil {
			damage = &CorruptError{path, at.Offset, bad.Error()}
			return false
		}
		return f(rec.event, at.Offset)
	})
	if err != nil {
		return err
	}
	return damage
}

// Back calls f for the events before an offset in bytes, the newest first, each checked
// against the line before it, until f returns false. Offset is where the event's line
// begins. Before is where a line begins, too: anything else is ErrOtherLog; 0 and what is
// behind the end of the log are its end.
func (l *Log) Back(before int64, f func(e Event, offset int64) (more bool)) error {
	if before <= 0 || before > l.end.Offset {
		before = l.end.Offset
	}
	last := []byte{'\n'}
	if before > 0 {
		if _, err := l.file.ReadAt(last, before-1); err != nil {
			return failed(l.path, before, err)
		}
	}
	if last[0] != '\n' {
		return ErrOtherLog
	}
	return verified(l.file, before, l.path, f)
}

// ReadBack is Back of the log at path, which it opens with View and closes. It returns the log's size in bytes.
func ReadBack(path string, before int64, f func(e Event, offset int64) (more bool)) (size int64, err error) {
	l, err := View(path)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Size(), l.Back(before, f)
}

// Seek finds where the first line begins that was written at a moment or later, by halving the log: one of several,
// where the clock was put back, and the end where nothing was.
func (l *Log) Seek(t time.Time) (int64, error) {
	found := l.end.Offset
	for from, to := int64(0), found; from < to; {
		middle := (from + to) / 2
		at := max(middle-1, 0)
		r := bufio.NewReader(io.NewSectionReader(l.file, at, l.end.Offset))
		if middle > 0 { // the next line begins behind the newline from here on
			rest, err := ReadLine(r)
			if err != nil {
				return 0, failed(l.path, at, err)
			}
			at += int64(len(rest))
		}
		if at >= to {
			to = middle
			continue
		}
		line, err := ReadLine(r)
		if err != nil {
			return 0, failed(l.path, at, err)
		}
		e, err := ParseLine(line)
		if err != nil {
			return 0, failed(l.path, at, err)
		}
		if e.At.Before(t) {
			from = at + int64(len(line))
		} else {
			found, to = at, middle
		}
	}
	return found, nil
}

// Mark is a place in a log: behind a line, with that line's checksum. The
// checksums are a chain, so a log that has it there has all that came before.
type Mark struct {
	Offset int64  `json:"offset"`
	Sum    string `json:"sum"`
}

// End is behind the last line of the log.
func (l *Log) End() Mark { return l.end }

// ErrOtherLog says that a log does not have the line of a Mark: it was cut, or it
// is another one.
var ErrOtherLog = errors.New("the log does not have the line that was read last")

// Reader reads a log forwards, each line checked against the one before it. It
// changes nothing, and may be used while another process writes: it ends where
// the log ended when it was opened, before a torn end as Open would set it aside.
type Reader struct {
	At   Mark   // behind the last line read
	Line string // that line, with its newline
	Size int64  // of the file

	chain
	file  io.ReaderAt
	lines *bufio.Reader
}

func newReader(r io.ReaderAt, size int64, path string, from Mark) *Reader {
	rest := io.NewSectionReader(r, from.Offset, size-from.Offset)
	return &Reader{At: from, Size: size, chain: chain{path: path}, file: r, lines: bufio.NewReaderSize(rest, 1<<16)}
}

// ReadFrom opens a log for reading from a mark; Mark{} is its start, and one without a Sum any
// place where a line begins.
func ReadFrom(path string, from Mark) (*Reader, error) {
	file, fi, err := durable.OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read life: %w", err)
	}
	r := newReader(file, fi.Size(), path, from)
	if err := r.find(from); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// find checks that the line of a mark is there.
func (r *Reader) find(m Mark) error {
	if m.Offset == 0 {
		return nil
	}
	end := make([]byte, sumLen+1)
	if m.Offset < int64(len(end)) || m.Offset > r.Size {
		return ErrOtherLog
	}
	if _, err := r.file.ReadAt(end, m.Offset-int64(len(end))); err != nil {
		return failed(r.path, m.Offset, err)
	}
	sum := string(end[len(" #"):sumLen])
	if string(end) != " #"+sum+"\n" || m.Sum != "" && m.Sum != sum {
		return ErrOtherLog
	}
	r.At.Sum = sum
	return nil
}

// Next returns the next event, and whether its line was written by the same append
// as the one before. At the end it returns io.EOF. A bad line is a *CorruptError.
func (r *Reader) Next() (e Event, follows bool, err error) {
	line, err := nextLine(r.lines)
	if err == io.EOF {
		return e, false, io.EOF
	}
	if err != nil {
		return e, false, failed(r.path, r.At.Offset, err)
	}
	rec, bad := r.chain.verify(r.At, line)
	if bad != nil {
		isTorn, err := tornEnd(line, r.lines)
		switch {
		case err != nil:
			return e, false, failed(r.path, r.At.Offset, err)
		case isTorn:
			return e, false, io.EOF
		}
		return e, false, &CorruptError{r.path, r.At.Offset, bad.Error()}
	}
	r.At, r.Line = Mark{r.At.Offset + int64(len(line)), rec.sum}, line
	return rec.event, rec.follows, nil
}

// More lets Next go on behind an io.EOF, up to where the log ends now. ErrOtherLog says
// that what was read is no longer there: the log was cut, or another file has its name.
func (r *Reader) More() error {
	named, err := os.Stat(r.path)
	if err != nil {
		return fmt.Errorf("read life: %w", err)
	}
	own, err := r.file.(*os.File).Stat()
	if err != nil {
		return fmt.Errorf("read life: %w", err)
	}
	if !os.SameFile(named, own) || own.Size() < r.At.Offset {
		return ErrOtherLog
	}
	r.Size = own.Size()
	r.Until(r.Size)
	return nil
}

// Until has the log end at an offset.
func (r *Reader) Until(end int64) {
	r.lines.Reset(io.NewSectionReader(r.file, r.At.Offset, end-r.At.Offset))
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.(io.Closer).Close() }

// Scan calls f for each event of a log, with its line's offset in bytes. After a
// torn end it returns nil, and at a bad line a *CorruptError.
func Scan(path string, f func(e Event, offset int64) error) error {
	var at Mark
	return ReadOn(path, &at, func(e Event, _ bool) error { return f(e, at.Offset) })
}

// ReadOn is Scan of what is behind a mark, which goes behind each event that f has taken; f is also
// told whether the same append wrote the line before. ErrOtherLog says that the mark is of another log.
func ReadOn(path string, at *Mark, f func(e Event, follows bool) error) error {
	r, err := ReadFrom(path, *at)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		e, follows, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(e, follows); err != nil {
			return err
		}
		*at = r.At
	}
}

// First returns the first event of a log: the boot. Its error is io.EOF when
// nothing is written yet.
func First(path string) (Event, error) {
	r, err := ReadFrom(path, Mark{})
	if err != nil {
		return Event{}, err
	}
	defer r.Close()
	e, _, err := r.Next()
	return e, err
}

// Lines returns the last n lines of a log as they stand, oldest first, without
// their newlines.
func (l *Log) Lines(n int) ([]string, error) {
	if l.err != nil {
		return nil, fmt.Errorf("read life: %w", l.err)
	}
	var out []string
	err := backwards(l.file, l.end.Offset, l.path, func(line string, _ Mark) bool {
		if len(out) == n {
			return false
		}
		out = append(out, strings.TrimSuffix(line, "\n"))
		return true
	})
	slices.Reverse(out)
	return out, err
}
