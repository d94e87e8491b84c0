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
	own  os.FileInfo // identifies the file
	last ending      // the end of the log when it was opened
	end  Mark        // behind the last good line
	err  error       // set once an append failed
	tree logTree     // the tree at the newest seal that this Log wrote

	// Syncs are the blobs of later lines. Append waits for them, too.
	Syncs durable.Syncs

	// Torn is the file into which Open moved the torn end, or "".
	Torn string
}

// Create makes a new, empty log. Its error wraps fs.ErrExist if path exists.
func Create(path string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create life: %w", err)
	}
	fi, err := file.Stat()
	if err == nil {
		err = durable.SyncOpen(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("create life: %w", err)
	}
	return &Log{path: path, file: file, own: fi}, nil
}

// Open opens a log for reading and appending. If a crash tore the last append, Open
// first moves it, from the first torn line on, to <path>.torn-<time>, and Torn names
// that file. The rest is durable when Open returns. For damage that no crash explains
// it returns a *CorruptError, and changes nothing.
//
// Only the holder of the identity's lock may call it: to other processes a line looks
// torn while it is being written.
func Open(path string) (*Log, error) {
	log, err := open(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open life: %w", err)
	}
	if err = log.SetAside(); err == nil {
		err = durable.Sync(path) // the writer may have died between its write and its sync
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("open life: mend its end: %w", err)
	}
	return log, nil
}

// View opens a log for reading up to its present last good line. It changes nothing,
// and may be called while another process writes.
func View(path string) (*Log, error) {
	log, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("view life: %w", err)
	}
	return log, nil
}

// open opens a log and finds the end of its sound part.
func open(path string, flag int) (*Log, error) {
	file, fi, err := durable.OpenRegular(path, flag, 0)
	if err != nil {
		return nil, err
	}
	last, err := soundEnd(file, fi.Size(), path)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Log{path: path, file: file, own: fi, end: last.Mark, last: last}, nil
}

// Last returns the last append that the log had when it was opened. A crash may have taken its last lines.
func (l *Log) Last() Append { return l.last.events }

// DropLast makes the log end before Last; with SetAside, for good. A caller that finds Last not Whole, or without its
// blobs, calls it before the next append. DropLast keeps the first append of a log.
func (l *Log) DropLast() {
	if l.last.from.Offset > 0 {
		l.end, l.last.events = l.last.from, nil
	}
}

// Close closes the file, and the files of Syncs.
func (l *Log) Close() error {
	err := l.Syncs.Wait()
	closed := l.file.Close()
	if err != nil {
		return err
	}
	return closed
}

// Append writes events as lines, in one write, and syncs them and all of Syncs at once. When it returns nil, they
// survive power loss. It refuses an event that is not well formed (see Event) before it writes anything. After any
// other error the file may have all, some or no lines, and the Log refuses further appends: open it again. A Log from
// View cannot append.
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

// lines returns the lines that an append of events would write, and the checksum of the last one.
func (l *Log) lines(events []Event) (lines []string, sum string, err error) {
	if l.err != nil {
		return nil, "", fmt.Errorf("append to life: %w", l.err)
	}
	sum = l.end.Sum
	for _, event := range events {
		if err := event.check(); err != nil {
			return nil, "", fmt.Errorf("append to life: %w", err)
		}
		var line string
		line, sum = render(sum, event, len(lines) > 0)
		lines = append(lines, line)
	}
	return lines, sum, nil
}

// write appends lines to the file, if it is still the one this Log knows.
func (l *Log) write(lines []byte) error {
	// If an editor has saved the log, another file has its name, and a write to this
	// one would be lost.
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

// SetAside moves the bytes behind the end of the log, if there are any, to another file, which Torn names. A crash
// on the way leaves them both here and there; the next Open moves them once more.
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

// Graft adds lines that another log has behind a mark to the log at path, behind the same mark. It makes the log if it
// is missing. Lines that are there already stay. If the log goes on differently there, Graft first sets its end aside,
// as Open does with a torn end. It returns the end of the lines. The error is ErrOtherLog if the log does not have the
// mark. Only the holder of the identity's lock may call it.
func Graft(path string, from Mark, lines []byte) (Mark, error) {
	log, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if log, err = Create(path); err == nil {
			err = durable.SyncDir(filepath.Dir(path))
		}
	}
	if err != nil {
		return from, err
	}
	defer log.Close()
	reader := newReader(log.file, log.end.Offset, path, from)
	if err := reader.find(from); err != nil {
		return from, err
	}
	there := make([]byte, min(int64(len(lines)), log.end.Offset-from.Offset))
	if _, err := log.file.ReadAt(there, from.Offset); err != nil {
		return from, failed(path, from.Offset, err)
	}
	to, same := from, true
	for line := range strings.Lines(string(lines)) {
		rec, bad := reader.chain.verify(to, line)
		if bad != nil {
			return from, &CorruptError{path, to.Offset, bad.Error()}
		}
		if at := int(to.Offset - from.Offset); at < len(there) {
			here := string(there[at:min(at+len(line), len(there))])
			equal := here == line || reader.chain.erased(to.Offset, here)
			same = same && equal
		}
		to = Mark{to.Offset + int64(len(line)), rec.sum}
	}
	if !same {
		there = nil
		if err := log.EndAt(from); err != nil {
			return from, err
		}
	}
	if rest := lines[len(there):]; len(rest) > 0 {
		if err := durable.AppendLater(&log.Syncs, log.file, rest); err != nil {
			return to, err
		}
		return to, log.Syncs.Wait()
	}
	return to, nil
}

// EndAt makes the log end at a mark, and sets the rest aside.
func (l *Log) EndAt(mark Mark) error {
	l.end, l.last.events = mark, nil
	return l.SetAside()
}
