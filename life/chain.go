package life

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/blake3"
)

// CorruptError is an error about a damaged log. A backward reader meets a damaged checksum
// only in the next line, and names that line.
type CorruptError struct {
	Path   string
	Offset int64 // the beginning of the bad line, in bytes
	Why    string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("read %s: corrupt at byte %d: %s", e.Path, e.Offset, e.Why)
}

// checksum is the first 12 hex digits of BLAKE3 over the previous line's
// checksum and this line's text.
func checksum(prev, text string) string {
	sum := blake3.Sum256([]byte(prev + text))
	return hex.EncodeToString(sum[:6])
}

const (
	sumLen     = len(" #") + 12
	joinedTail = " " + joined
)

// render returns the line of e, with its newline, and its checksum. follows is true
// if the line before belongs to the same append.
func render(prev string, e Event, follows bool) (line, sum string) {
	text := e.String()
	if follows {
		text += joinedTail
	}
	sum = checksum(prev, text)
	return text + " #" + sum + "\n", sum
}

// split separates a line from its checksum.
func split(line string) (text, sum string, ok bool) {
	line = strings.TrimSuffix(line, "\n")
	n := len(line) - sumLen
	if n < 0 || line[n:n+2] != " #" {
		return "", "", false
	}
	return line[:n], line[n+2:], true
}

// record is a line that was read.
type record struct {
	event   Event
	follows bool // the append of the line before wrote it, too
	sum     string
}

// read reads a line without checking it against the line before it.
func read(line string) (record, error) {
	if !strings.HasSuffix(line, "\n") {
		return record{}, errors.New("line has no end")
	}
	text, sum, ok := split(line)
	if !ok {
		return record{}, errors.New("line has no checksum")
	}
	text, follows := strings.CutSuffix(text, joinedTail)
	e, err := parse(text)
	return record{e, follows, sum}, err
}

// ParseLine reads a line of a log without checking it against the line before;
// Scan and the methods of Log do.
func ParseLine(line string) (Event, error) {
	rec, err := read(strings.TrimSuffix(line, "\n") + "\n")
	return rec.event, err
}

// verify reads a line, with its newline, and checks it against the checksum of
// the line before it, which ends at at. A partly erased line keeps its old checksum;
// LIFE.erased vouches for it.
func (c *chain) verify(at Mark, line string) (record, error) {
	text, sum, ok := split(line)
	if !ok {
		return read(line) // it returns the error
	}
	if checksum(at.Sum, text) != sum && !c.erased(at.Offset, line) {
		return record{}, errors.New("checksum does not fit")
	}
	return read(line)
}

// ending is the end of the sound part of a log.
type ending struct {
	Mark
	from   Mark   // the beginning of the last append
	events Append // its events
}

// soundEnd finds the end of the sound part of a log. Bytes behind it are a torn end. It
// reads back to the beginning of the last append, and returns a *CorruptError for damage
// there.
func soundEnd(file io.ReaderAt, size int64, path string) (last ending, err error) {
	if last.from, err = lastAppend(file, size, &chain{path: path}); err != nil {
		return last, err
	}
	reader := newReader(file, size, path, last.from)
	for {
		event, _, err := reader.Next()
		if err == io.EOF {
			last.Mark = reader.At
			return last, nil
		} else if err != nil {
			return last, err
		}
		last.events = append(last.events, event)
	}
}

// lastAppend returns the place before the newest append with a sound first line, or the
// start of the file if there is no such append.
func lastAppend(file io.ReaderAt, size int64, lines *chain) (Mark, error) {
	var begin Mark
	err := backwards(file, size, lines.path, func(line string, at Mark) bool {
		rec, bad := lines.verify(at, line)
		if bad == nil && !rec.follows {
			begin = at
			return false
		}
		return true
	})
	return begin, err
}

// tornEnd reports whether a crash explains a bad line and the lines after it, as the rest
// of one append: nothing comes after the line, or it has NUL bytes (pages that never
// reached the disk) and only lines of the same append come after it.
func tornEnd(bad string, after *bufio.Reader) (bool, error) {
	hole := strings.Contains(bad, "\x00")
	if hole && !sameAppend(bad) {
		return false, nil
	}
	for {
		line, err := nextLine(after)
		if err == io.EOF {
			return true, nil
		}
		if err != nil || !hole {
			return false, err
		}
		if !sameAppend(line) {
			return false, nil
		}
	}
}

// sameAppend reports whether a line with a hole, or behind one, can belong to the
// append that has the hole. If another append begins with the line, the hole was
// synced before, and so it is damage.
func sameAppend(line string) bool {
	lastNUL := strings.LastIndexByte(line, 0)
	rec, err := read(line[lastNUL+1:])
	if err == nil {
		return rec.follows
	}
	return lastNUL >= 0 || !strings.HasSuffix(line, "\n")
}

// nextLine returns a line with its newline. At the end of the file it returns a last
// line without newline, and then io.EOF.
func nextLine(r *bufio.Reader) (string, error) {
	line, err := ReadLine(r)
	if err == io.EOF && line != "" {
		err = nil
	}
	return line, err
}

// maxLine bounds a line of a log, in bytes. The longest lines that Lethe ever wrote have
// some 3 MiB.
const maxLine = 16 << 20

// ErrLongLine is the error of ReadLine for a line that is too long for a log.
var ErrLongLine = errors.New("a line of more than 16 MiB")

// failed makes the error of reading a log at an offset: a *CorruptError for ErrLongLine, else the disk's error.
func failed(path string, offset int64, err error) error {
	if err == ErrLongLine {
		return &CorruptError{path, offset, err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// ReadLine is r.ReadString('\n') for a log. It returns ErrLongLine for a line of more
// than 16 MiB, so that a hole in the file does not fill the memory.
func ReadLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return string(line), ErrLongLine
		case err != bufio.ErrBufferFull:
			return string(line), err
		}
	}
}
