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

// CorruptError says where a log is damaged. Read backwards, a damaged checksum is found in
// the line that follows it.
type CorruptError struct {
	Path   string
	Offset int64 // of the bad line, in bytes
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

// render returns the line of e, with its newline, and its checksum. follows says
// that the line before belongs to the same append.
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

// record is a line as it was read.
type record struct {
	event   Event
	follows bool // it was written by the append of the line before it
	sum     string
}

// read reads a line without asking what came before it.
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
// the line before it, which ends at a place; of a line of which bytes were erased, the checksum
// is that of the line as it was.
func (c *chain) verify(at Mark, line string) (record, error) {
	if text, sum, ok := split(line); ok && checksum(at.Sum, text) != sum && !c.erased(at.Offset, line) {
		return record{}, errors.New("checksum does not fit")
	}
	return read(line)
}

// ending is where the sound part of a log ends, where its last append begins, and its events.
type ending struct {
	Mark
	from   Mark
	events Append
}

// soundEnd finds where the sound part of a log ends. What follows, if anything, is a
// torn end. It reads back as far as the last append goes; damage that it meets there is a
// *CorruptError.
func soundEnd(r io.ReaderAt, size int64, path string) (last ending, err error) {
	if last.from, err = lastAppend(r, size, &chain{path: path}); err != nil {
		return last, err
	}
	reader := newReader(r, size, path, last.from)
	for {
		e, _, err := reader.Next()
		if err == io.EOF {
			last.Mark = reader.At
			return last, nil
		} else if err != nil {
			return last, err
		}
		last.events = append(last.events, e)
	}
}

// lastAppend returns the place before the newest append with a sound first line; the
// start of the file when there is none.
func lastAppend(r io.ReaderAt, size int64, c *chain) (Mark, error) {
	var begin Mark
	err := backwards(r, size, c.path, func(line string, at Mark) bool {
		rec, bad := c.verify(at, line)
		if bad == nil && !rec.follows {
			begin = at
			return false
		}
		return true
	})
	return begin, err
}

// tornEnd reports whether a bad line and the lines after it are what a crash left of one
// append: nothing comes after the line, or it has NUL bytes (pages that never reached the
// disk) and only lines of the same append come after it.
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
		if err != nil || !hole || !sameAppend(line) {
			return false, err
		}
	}
}

// sameAppend reports whether a line with a hole, or after one, can be of the
// append that has the hole. Where a line of another append begins, the hole was
// synced before it: then the hole is damage.
func sameAppend(line string) bool {
	i := strings.LastIndexByte(line, 0)
	rec, err := read(line[i+1:])
	if err == nil {
		return rec.follows
	}
	return i >= 0 || !strings.HasSuffix(line, "\n")
}

// nextLine returns a line with its newline, at the end what comes after the last
// newline, and then io.EOF.
func nextLine(r *bufio.Reader) (string, error) {
	line, err := ReadLine(r)
	if err == io.EOF && line != "" {
		err = nil
	}
	return line, err
}

// maxLine bounds a line of a log, in bytes; the longest that Lethe ever wrote have
// some 3 MiB.
const maxLine = 16 << 20

// ErrLongLine is the error of ReadLine for what is no line of a log.
var ErrLongLine = errors.New("a line of more than 16 MiB")

// failed is the error of reading a log at an offset: damage, or what the disk says.
func failed(path string, offset int64, err error) error {
	if err == ErrLongLine {
		return &CorruptError{path, offset, err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// ReadLine is r.ReadString('\n') for a log, which has no line of more than 16 MiB:
// a hole of the file is not read into memory as one.
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
