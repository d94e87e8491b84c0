package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"lethe/internal/durable"
	"lethe/internal/screen"
)

// Append adds line, one whole line with its newline as Format makes it, to the
// room at path, and returns the bytes [from, to) that it occupies. File (0600)
// and directory (0700) are made when missing; the name of a directory that is there
// is durable since the home was opened. If the room ends in somebody's
// torn line, the new one still starts on a line of its own.
//
// After an error the line may be in the room, whole or torn, or not: Post
// finds out and finishes.
func Append(path string, line []byte) (from, to int64, err error) {
	if n := bytes.IndexByte(line, '\n'); n < 0 || n != len(line)-1 {
		return 0, 0, fmt.Errorf("append to %s: %q is not one line with its newline", path, clip(line))
	}
	from, to, err = durable.Append(path, line, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return 0, 0, fmt.Errorf("append to %s: %w", path, err)
		}
		from, to, err = durable.Append(path, line, 0o600)
	}
	return from, to, err
}

// Post appends line exactly once, however often it is called with the same
// arguments. at is what End said of the room when the posting was
// decided and recorded; the search for an earlier attempt begins there, or at
// the start of the file if the room has been replaced since. It returns the
// bytes of the line.
func Post(path string, line []byte, at Mark) (from, to int64, err error) {
	f, fi, err := durable.OpenRegular(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Append(path, line)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("post to %s: %w", path, err)
	}
	defer f.Close()
	if inodeOf(fi) != at.Inode {
		at.From = 0
	}
	from, to, found, whole, err := find(f, fi.Size(), line, at.From)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("search %s: %w", path, err)
	case !found:
		return durable.AppendShared(f, fi, line)
	case !whole:
		// The earlier attempt was cut just before its newline. Appending the
		// line again would say it twice; an empty line ends it.
		_, _, err = durable.AppendShared(f, fi, []byte("\n"))
	default:
		// The earlier attempt may have ended before its sync.
		err = durable.SyncOpen(f)
	}
	return from, to, err
}

// find looks for line as a whole line of the room, of size bytes, at or after byte from, or as
// its unfinished last line (whole false), and returns the bytes [at, to) that it
// occupies with its newline. A line end is not compared, and a control character
// equals what Format makes of it: programs before wrote them as they were. If from
// is inside a line, the search begins with the next line; if the file is shorter
// than from, it was replaced, and all of it is searched.
func find(f *os.File, size int64, line []byte, from int64) (at, to int64, found, whole bool, err error) {
	if from == size {
		return 0, 0, false, false, nil
	}
	if from < 0 || from > size {
		from = 0
	}
	want := trimEOL(line)
	s, atLine := newLineScanner(f, from, max(maxLine, len(want)))
	equal := func(raw []byte) bool {
		return bytes.Equal(raw, want) || len(raw) < len(want) && screen.SanitizeControls(string(raw)) == string(want)
	}
	for atLine && s.next() {
		if equal(trimEOL(s.raw)) {
			return s.from, s.to, true, true, nil
		}
	}
	found = atLine && len(want) > 0 && equal(s.raw)
	return s.to, s.to + int64(len(s.raw)) + 1, found, false, s.err
}

// open opens a room for reading: a regular file, or a link to one that the user of
// this process made.
func open(path string) (*os.File, fs.FileInfo, error) {
	return durable.OpenRegular(path, os.O_RDONLY, 0)
}

func inodeOf(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// trimEOL drops one line end, LF or CRLF.
func trimEOL(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// clip keeps an error message readable whatever the line.
func clip(line []byte) []byte { return line[:min(len(line), 60)] }
