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

// SinceEpoch returns the newest epoch event and all later events, oldest first,
// each checked against the line before it. It reads the file backwards, only as
// far as it needs. Without an epoch it returns all events. For a bad line in that
// range it returns a *CorruptError.
func (l *Log) SinceEpoch() ([]Event, error) {
	if l.err != nil {
		return nil, fmt.Errorf("read life: %w", l.err)
	}
	return back(l.file, l.end.Offset, l.path, func(e Event) bool { return e.Kind == Epoch })
}

// back returns the newest events of the first size bytes of file, oldest first, back
// to and including the first for which enough is true.
func back(file io.ReaderAt, size int64, path string, enough func(Event) bool) ([]Event, error) {
	var events []Event
	err := verified(file, size, path, func(event Event, _ int64) bool {
		events = append(events, event)
		return !enough(event)
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	return events, nil
}

// verified is backwards for events. It checks each line against the line before.
func verified(file io.ReaderAt, size int64, path string, visit func(e Event, offset int64) (more bool)) error {
	var damage error
	lines := chain{path: path}
	err := backwards(file, size, path, func(line string, at Mark) bool {
		rec, bad := lines.verify(at, line)
		if bad != nil {
			damage = &CorruptError{path, at.Offset, bad.Error()}
			return false
		}
		return visit(rec.event, at.Offset)
	})
	if err != nil {
		return err
	}
	return damage
}

// Back calls visit for the events before an offset in bytes, the newest first, each checked
// against the line before it, until visit returns false. offset is the beginning of the
// event's line. before is the beginning of a line, too, or Back returns ErrOtherLog; 0 and
// offsets behind the end of the log stand for its end.
func (l *Log) Back(before int64, visit func(e Event, offset int64) (more bool)) error {
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
	return verified(l.file, before, l.path, visit)
}

// ReadBack is Back for the log at path. It opens the log with View, and returns its size in bytes.
func ReadBack(path string, before int64, visit func(e Event, offset int64) (more bool)) (size int64, err error) {
	log, err := View(path)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return log.Size(), log.Back(before, visit)
}

// Seek returns the beginning of the first line that was written at a moment or later, or the end of the log if there is
// no such line. It searches by halves. If the clock was set back, several lines may qualify, and Seek returns any.
func (l *Log) Seek(moment time.Time) (int64, error) {
	found := l.end.Offset
	for from, to := int64(0), found; from < to; {
		middle := (from + to) / 2
		at := max(middle-1, 0)
		lines := bufio.NewReader(io.NewSectionReader(l.file, at, l.end.Offset))
		if middle > 0 { // the next line begins behind the next newline
			rest, err := ReadLine(lines)
			if err != nil {
				return 0, failed(l.path, at, err)
			}
			at += int64(len(rest))
		}
		if at >= to {
			to = middle
			continue
		}
		line, err := ReadLine(lines)
		if err != nil {
			return 0, failed(l.path, at, err)
		}
		event, err := ParseLine(line)
		if err != nil {
			return 0, failed(l.path, at, err)
		}
		if event.At.Before(moment) {
			from = at + int64(len(line))
		} else {
			found, to = at, middle
		}
	}
	return found, nil
}

// Mark is a place in a log: behind a line, with that line's checksum. The
// checksums are a chain, so two logs that have the same Mark have the same lines
// before it.
type Mark struct {
	Offset int64  `json:"offset"`
	Sum    string `json:"sum"`
}

// End returns the place behind the last line of the log.
func (l *Log) End() Mark { return l.end }

// ErrOtherLog is the error for a log without the line of a Mark: the log was cut, or it
// is another one.
var ErrOtherLog = errors.New("the log does not have the line that was read last")

// Reader reads a log forwards, and checks each line against the line before it. It
// changes nothing, and may be used while another process writes: it ends at the end
// that the log had when it was opened, or before a torn end.
type Reader struct {
	At   Mark   // behind the last line read
	Line string // the last line read, with its newline
	Size int64  // of the file, in bytes

	chain
	file  io.ReaderAt
	lines *bufio.Reader
}

func newReader(file io.ReaderAt, size int64, path string, from Mark) *Reader {
	rest := io.NewSectionReader(file, from.Offset, size-from.Offset)
	return &Reader{At: from, Size: size, chain: chain{path: path}, file: file, lines: bufio.NewReaderSize(rest, 1<<16)}
}

// ReadFrom opens a log for reading from a mark. Mark{} is the start, and a mark without Sum may be
// the beginning of any line. The error is ErrOtherLog if the log does not have the mark.
func ReadFrom(path string, from Mark) (*Reader, error) {
	file, fi, err := durable.OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read life: %w", err)
	}
	reader := newReader(file, fi.Size(), path, from)
	if err := reader.find(from); err != nil {
		file.Close()
		return nil, err
	}
	return reader, nil
}

// find checks that the line of a mark is there.
func (r *Reader) find(mark Mark) error {
	if mark.Offset == 0 {
		return nil
	}
	end := make([]byte, sumLen+1)
	if mark.Offset < int64(len(end)) || mark.Offset > r.Size {
		return ErrOtherLog
	}
	if _, err := r.file.ReadAt(end, mark.Offset-int64(len(end))); err != nil {
		return failed(r.path, mark.Offset, err)
	}
	sum := string(end[len(" #"):sumLen])
	isEnd := string(end) == " #"+sum+"\n"
	fits := mark.Sum == "" || mark.Sum == sum
	if !isEnd || !fits {
		return ErrOtherLog
	}
	r.At.Sum = sum
	return nil
}

// Next returns the next event, and whether the append of the line before wrote its line,
// too. At the end it returns io.EOF, and for a bad line a *CorruptError.
func (r *Reader) Next() (event Event, follows bool, err error) {
	line, err := nextLine(r.lines)
	if err == io.EOF {
		return event, false, io.EOF
	}
	if err != nil {
		return event, false, failed(r.path, r.At.Offset, err)
	}
	rec, bad := r.chain.verify(r.At, line)
	if bad != nil {
		isTorn, err := tornEnd(line, r.lines)
		switch {
		case err != nil:
			return event, false, failed(r.path, r.At.Offset, err)
		case isTorn:
			return event, false, io.EOF
		}
		return event, false, &CorruptError{r.path, r.At.Offset, bad.Error()}
	}
	r.At, r.Line = Mark{r.At.Offset + int64(len(line)), rec.sum}, line
	return rec.event, rec.follows, nil
}

// More lets Next go on behind an io.EOF, up to the present end of the log. It returns
// ErrOtherLog if the log was cut before At, or if another file has its name.
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

// Until makes Next return io.EOF at an offset.
func (r *Reader) Until(end int64) {
	r.lines.Reset(io.NewSectionReader(r.file, r.At.Offset, end-r.At.Offset))
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.(io.Closer).Close() }

// Scan calls visit for each event of a log, with its line's offset in bytes. It stops at
// visit's first error. It returns nil at a torn end, and a *CorruptError at a bad line.
func Scan(path string, visit func(e Event, offset int64) error) error {
	var at Mark
	return ReadOn(path, &at, func(e Event, _ bool) error { return visit(e, at.Offset) })
}

// ReadOn is Scan for the events behind a mark. It moves the mark behind each event after visit has
// returned nil. follows is true if the same append wrote the line before. The error is ErrOtherLog if
// the log does not have the mark.
func ReadOn(path string, at *Mark, visit func(event Event, follows bool) error) error {
	reader, err := ReadFrom(path, *at)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		event, follows, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(event, follows); err != nil {
			return err
		}
		*at = reader.At
	}
}

// First returns the first event of a log: the boot. Its error is io.EOF for an empty
// log.
func First(path string) (Event, error) {
	reader, err := ReadFrom(path, Mark{})
	if err != nil {
		return Event{}, err
	}
	defer reader.Close()
	event, _, err := reader.Next()
	return event, err
}

// Lines returns the last count lines of a log, oldest first, without their newlines.
func (l *Log) Lines(count int) ([]string, error) {
	if l.err != nil {
		return nil, fmt.Errorf("read life: %w", l.err)
	}
	var out []string
	err := backwards(l.file, l.end.Offset, l.path, func(line string, _ Mark) bool {
		if len(out) == count {
			return false
		}
		out = append(out, strings.TrimSuffix(line, "\n"))
		return true
	})
	slices.Reverse(out)
	return out, err
}
