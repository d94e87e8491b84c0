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
)

// Append adds line, one whole line with its newline as Format makes it, to the
// room at path, and returns the bytes [from, to) that it occupies. File (0600)
// and directory (0700) are made when missing. If the room ends in somebody's
// torn line, the new one still starts on a line of its own.
//
// After an error the line may be in the room, whole or torn, or not: Post
// finds out and finishes.
func Append(path string, line []byte) (from, to int64, err error) {
	if n := bytes.IndexByte(line, '\n'); n < 0 || n != len(line)-1 {
		return 0, 0, fmt.Errorf("append to %s: %q is not one line with its newline", path, clip(line))
	}
	// A FIFO would block the open for ever.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return 0, 0, fmt.Errorf("append to %s: not a regular file", path)
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", path, err)
	}
	return durable.Append(path, line, 0o600)
}

// Post appends line exactly once, however often it is called with the same
// arguments. inode and from are what End said of the room when the posting was
// decided and recorded; the search for an earlier attempt begins there, or at
// the start of the file if the room has been replaced since. It returns the
// bytes of the line.
func Post(path string, line []byte, inode uint64, from int64) (int64, int64, error) {
	now, _, err := End(path)
	if err != nil {
		return 0, 0, err
	}
	if now != inode {
		from = 0
	}
	at, found, whole, err := find(path, line, from)
	switch {
	case err != nil:
		return 0, 0, err
	case !found:
		return Append(path, line)
	case !whole:
		// The earlier attempt was cut just before its newline. Appending the
		// line again would say it twice; an empty line ends it.
		if _, _, err := durable.Append(path, []byte("\n"), 0o600); err != nil {
			return 0, 0, err
		}
	}
	return at, at + int64(len(bytes.TrimRight(line, "\r\n"))) + 1, nil
}

// find looks for line as a whole line of the room at or after byte from, or as
// its unfinished last line (whole false), and returns where it starts. A line end
// is not compared. If from is inside a line, the search begins with the next line;
// if the file is shorter than from, it was replaced, and all of it is searched. A
// missing room holds nothing.
func find(path string, line []byte, from int64) (at int64, found, whole bool, err error) {
	f, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, false, nil
	}
	if err != nil {
		return 0, false, false, err
	}
	defer f.Close()
	if from < 0 || from > fi.Size() {
		from = 0
	}
	s, atLine := newScanner(f, from, maxLine), true
	if from > 0 {
		// A newline just before from means that from starts a line.
		s = newScanner(f, from-1, maxLine)
		atLine = s.next()
	}
	want := trimEOL(line)
	for s.next() {
		if bytes.Equal(trimEOL(s.raw), want) {
			return s.from, true, true, nil
		}
	}
	if s.err != nil {
		return 0, false, false, fmt.Errorf("search %s: %w", path, s.err)
	}
	return s.to, atLine && len(want) > 0 && bytes.Equal(s.rest(), want), false, nil
}

// End returns the inode and the size in bytes of the room at path: what to
// record with the intent to post. Both are 0 when the room is missing.
func End(path string) (inode uint64, size int64, err error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	return inodeOf(fi), fi.Size(), nil
}

// open opens a room for reading. Anything but a regular file is refused
// without blocking on it.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("read %s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
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
