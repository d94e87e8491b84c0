package life

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/internal/durable"
)

// Log is an open LIFE.md. One process writes it at a time; its methods are not
// for concurrent use.
type Log struct {
	path string
	file *os.File
	own  os.FileInfo // which file that is
	last ending      // as it was opened
	end  Mark        // behind the last good line
	err  error       // set once an append failed
	tree logTree     // as it was at the newest seal that this Log wrote

	// Syncs are the blobs of lines to come, which Append waits for, too.
	Syncs durable.Syncs

	// Torn is where Open put the torn end of the file, "" when there was none.
	Torn string
}

// Create makes a new, empty log. It fails with fs.ErrExist when path is there
// already.
func Create(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create life: %w", err)
	}
	fi, err := f.Stat()
	if err == nil {
		err = durable.SyncOpen(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("create life: %w", err)
	}
	return &Log{path: path, file: f, own: fi}, nil
}

// Open opens a log for reading and appending. What a crash has left of its last
// append, from the first torn line on, is moved to <path>.torn-<time> first, and
// Torn names that file; what stays is durable when Open returns. Damage that no
// crash explains is a *CorruptError, and nothing is changed.
//
// Only the holder of the identity's lock may call it: to anybody else a line
// that is being written looks torn.
func Open(path string) (*Log, error) {
	l, err := open(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open life: %w", err)
	}
	if err = l.SetAside(); err == nil {
		err = durable.Sync(path) // the writer may have died between its write and its sync
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("open life: mend its end: %w", err)
	}
	return l, nil
}

// View opens a log for reading, as it is now up to its last good line. It
// changes nothing, and may be called while another process writes.
func View(path string) (*Log, error) {
	l, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("view life: %w", err)
	}
	return l, nil
}

// open opens a log and finds the end of what is sound.
func open(path string, flag int) (*Log, error) {
	f, fi, err := durable.OpenRegular(path, flag, 0)
	if err != nil {
		return nil, err
	}
	last, err := soundEnd(f, fi.Size(), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Log{path: path, file: f, own: fi, end: last.Mark, last: last}, nil
}

// Last returns the last append, or what a crash has left of it, as the log was opened.
func (l *Log) Last() Append { return l.last.events }

// DropLast has the log end before it, for good with SetAside; whoever knows that it is not Whole, or that texts of it
// are missing, calls it before the next append. The first append of a log stays.
func (l *Log) DropLast() {
	if l.last.from.Offset > 0 {
		l.end, l.last.events = l.last.from, nil
	}
}

// Close closes the file, and those of Syncs.
func (l *Log) Close() error {
	err := l.Syncs.Wait()
	closed := l.file.Close()
	if err != nil {
		return err
	}
	return closed
}

// Append writes events as lines, in one write, and syncs them and all of Syncs at once. A nil error means
// that they survive power loss. An event that is not well formed (see Event) is
// refused before anything is written. After any other error the log
// takes no more: the lines may be there, all, some or none, and only Open can tell. A log from View takes nothing.
func (l *Log) Append(events ...Event) error {
	lines, sum, err := l.lines(events)
	if len(lines) == 0 {
		return err
	}
	data := []byte(strings.Join(lines, ""))
	if err := l.write(data); err != nil {
		l.err = fmt.Errorf("an earlier append failed, open the log again: %w", err)
		return fmt.Errorf("append to life: %w", err)
	}
	l.end = Mark{l.end.Offset + int64(len(data)), sum}
	return nil
}

// lines are those that an append of events would write, and the checksum of the last one.
func (l *Log) lines(events []Event) (lines []string, sum string, err error) {
	if l.err != nil {
		return nil, "", fmt.Errorf("append to life: %w", l.err)
	}
	sum = l.end.Sum
	for _, e := range events {
		if err := e.check(); err != nil {
			return nil, "", fmt.Errorf("append to life: %w", err)
		}
		var line string
		line, sum = render(sum, e, len(lines) > 0)
		lines = append(lines, line)
	}
	return lines, sum, nil
}

// write appends lines to the file, if it is still the one this Log knows.
func (l *Log) write(lines []byte) error {
	// An editor that saved the log has put another file in its place, and what we
	// write to ours would be lost.
	named, err := os.Stat(l.path)
	if err != nil {
		return err
	}
	if !os.SameFile(named, l.own) {
		return fmt.Errorf("write %s: it was replaced by another file", l.path)
	}
	if named.Size() != l.end.Offset {
		return fmt.Errorf(
			"write %s: it was changed by somebody else: %d bytes, expected %d",
			l.path,
			named.Size(),
			l.end.Offset,
		)
	}
	if err := durable.AppendLater(&l.Syncs, l.file, lines); err != nil {
		return err
	}
	return l.Syncs.Wait()
}

// Size returns the length of the sound part of the log in bytes.
func (l *Log) Size() int64 { return l.end.Offset }

// SetAside moves what follows the end of the log, if anything does, to a file of its own, which Torn names. A
// crash on the way leaves it both here and there; the next Open moves it once more.
func (l *Log) SetAside() error {
	fi, err := l.file.Stat()
	if err != nil || fi.Size() <= l.end.Offset {
		return err
	}
	torn := make([]byte, fi.Size()-l.end.Offset)
	if _, err := l.file.ReadAt(torn, l.end.Offset); err != nil {
		return err
	}
	l.Torn = l.path + ".torn-" + time.Now().UTC().Format("20060102T150405.000000Z")
	if err := durable.WriteFile(l.Torn, torn, 0o600); err != nil {
		return err
	}
	return durable.Truncate(l.file, l.end.Offset)
}

// Graft has the log at path, which is made where it is missing, go on from a mark with lines that were written elsewhere.
// What stands there already stays; what differs is set aside first, as Open does with a torn end. It returns where the
// lines end. ErrOtherLog says that the log does not have the mark. Only the holder of the identity's lock may call it.
func Graft(path string, from Mark, lines []byte) (Mark, error) {
	l, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if l, err = Create(path); err == nil {
			err = durable.SyncDir(filepath.Dir(path))
		}
	}
	if err != nil {
		return from, err
	}
	defer l.Close()
	r := newReader(l.file, l.end.Offset, path, from)
	if err := r.find(from); err != nil {
		return from, err
	}
	there := make([]byte, min(int64(len(lines)), l.end.Offset-from.Offset))
	if _, err := l.file.ReadAt(there, from.Offset); err != nil {
		return from, failed(path, from.Offset, err)
	}
	to, same := from, true
	for line := range strings.Lines(string(lines)) {
		rec, bad := r.chain.verify(to, line)
		if bad != nil {
			return from, &CorruptError{path, to.Offset, bad.Error()}
		}
		if at := int(to.Offset - from.Offset); at < len(there) {
			here := string(there[at:min(at+len(line), len(there))])
			same = same && (here == line || r.chain.erased(to.Offset, here))
		}
		to = Mark{to.Offset + int64(len(line)), rec.sum}
	}
	if !same {
		there = nil
		if err := l.EndAt(from); err != nil {
			return from, err
		}
	}
	if rest := lines[len(there):]; len(rest) > 0 {
		if err := durable.AppendLater(&l.Syncs, l.file, rest); err != nil {
			return to, err
		}
		return to, l.Syncs.Wait()
	}
	return to, nil
}

// EndAt sets aside what follows a mark of the log.
func (l *Log) EndAt(m Mark) error {
	l.end, l.last.events = m, nil
	return l.SetAside()
}
