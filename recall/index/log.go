package index

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
)

// mark is a place in a log: behind a line, with that line's checksum. The
// checksums are a chain, so a log that has it there has all that came before.
type mark struct {
	Offset int64  `json:"offset"`
	Sum    string `json:"sum"`
}

// errOtherLog says that a log does not have the line that the index stands at:
// it was cut, or it is another one.
var errOtherLog = fmt.Errorf("%w: the log is not the one that was indexed", ErrDamaged)

// firstLine returns the beginning of the address of the life that a log is of.
func firstLine(path string) (self string, err error) {
	log, err := openLog(path, mark{})
	if err != nil {
		return "", err
	}
	defer log.close()
	e, _, err := log.next()
	if err == io.EOF { // nothing is written yet
		return "", nil
	}
	if err == nil && (e.Kind != "boot" || len(e.Refs) == 0) {
		err = &life.CorruptError{Path: path, Why: "it does not begin with boot"}
	}
	if err != nil {
		return "", err
	}
	return e.Refs[0].Hash, nil
}

// The end of a line: " #", 12 digits, LF.
const tailLen = 2 + 12 + 1

// logReader reads a log forwards from a mark, each line checked against the one
// before it. Another process may be writing it.
type logReader struct {
	file *os.File
	path string
	size int64 // when it was opened: what comes later is for the next time
	buf  *bufio.Reader
	at   mark // behind the last line read
}

func openLog(path string, from mark) (*logReader, error) {
	file, _, err := durable.OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read life: %w", err)
	}
	l := &logReader{file: file, path: path, at: from}
	if err := l.seek(); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

func (l *logReader) seek() error {
	fi, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("read life: %w", err)
	}
	l.size = fi.Size()
	if l.at.Offset > 0 {
		var tail [tailLen]byte
		if l.at.Offset < tailLen || l.at.Offset > l.size {
			return errOtherLog
		}
		if _, err := l.file.ReadAt(tail[:], l.at.Offset-tailLen); err != nil {
			return fmt.Errorf("read %s: %w", l.path, err)
		}
		if string(tail[:]) != " #"+l.at.Sum+"\n" {
			return errOtherLog
		}
	}
	l.buf = bufio.NewReaderSize(io.NewSectionReader(l.file, l.at.Offset, l.size-l.at.Offset), 1<<16)
	return nil
}

func (l *logReader) close() error { return l.file.Close() }

// next returns the next event, and whether its line was written by the same
// append as the one before. At the end, and before an end that is torn or still
// being written, it returns io.EOF. A bad line in the middle is a
// *life.CorruptError.
func (l *logReader) next() (e life.Event, follows bool, err error) {
	line, err := life.ReadLine(l.buf)
	if err == io.EOF {
		return e, false, io.EOF
	}
	if errors.Is(err, life.ErrLongLine) {
		return e, false, &life.CorruptError{Path: l.path, Offset: l.at.Offset, Why: err.Error()}
	}
	if err != nil {
		return e, false, fmt.Errorf("read %s: %w", l.path, err)
	}
	bad := "line has no checksum"
	if n := len(line) - tailLen; n >= 0 && line[n:n+2] == " #" {
		text, sum := line[:n], line[n+2:len(line)-1]
		bad = "checksum does not fit"
		if blobs.Sum([]byte(l.at.Sum + text)).String()[:12] == sum {
			e, err := life.ParseLine(line)
			if err == nil {
				l.at = mark{l.at.Offset + int64(len(line)), sum}
				return e, strings.HasSuffix(text, " +"), nil
			}
			bad = err.Error()
		}
	}
	if _, err := l.buf.Peek(1); err == io.EOF {
		return e, false, io.EOF
	}
	return e, false, &life.CorruptError{Path: l.path, Offset: l.at.Offset, Why: bad}
}
