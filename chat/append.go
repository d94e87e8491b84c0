package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lethe/internal/durable"
	"lethe/internal/screen"
)

// Append adds line, one whole line with its newline as Format makes it, to the
// room at path, and returns the bytes [from, to) that it occupies. It makes the
// file (0600) and the directory (0700) if they are missing. If the room ends in
// somebody's torn line, the new one still starts on a line of its own. When it
// returns nil, the line survives power loss.
//
// After an error the line may be in the room, whole or torn, or not: Post
// finds out and finishes.
func Append(path string, line []byte) (from, to int64, err error) {
	if newline := bytes.IndexByte(line, '\n'); newline < 0 || newline != len(line)-1 {
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

// Once appends a line of an agent to the room at path, unless a line there has its text.
func Once(path, name, text string) error {
	line, err := Format(true, name, time.Now(), text)
	said, _ := os.ReadFile(path) // a file that cannot be read takes no line, either
	_, text, _ = strings.Cut(string(line), "]")
	if err != nil || strings.Contains(string(said), "]"+text) {
		return err
	}
	_, _, err = Append(path, line)
	return err
}

// Post appends line exactly once, however often it is called with the same
// arguments. at is the room's End from the moment when the posting was decided
// and recorded; the search for an earlier attempt begins there, or at the start
// of the file if the room has been replaced since. It returns the bytes of the
// line.
func Post(path string, line []byte, at Mark) (from, to int64, err error) {
	file, fi, err := durable.OpenRegular(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Append(path, line)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("post to %s: %w", path, err)
	}
	defer file.Close()
	if inodeOf(fi) != at.Inode {
		at.From = 0
	}
	from, to, found, whole, err := find(file, fi.Size(), line, at.From)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("search %s: %w", path, err)
	case !found:
		return durable.AppendShared(file, fi, line)
	case !whole:
		// The earlier attempt was cut just before its newline. Appending the line
		// again would say it twice, so an empty line ends it.
		_, _, err = durable.AppendShared(file, fi, []byte("\n"))
	default:
		// The earlier attempt may have ended before its sync.
		err = durable.SyncOpen(file)
	}
	return from, to, err
}

// find looks for line as a whole line of the room, of size bytes, at or after byte from, or as
// its unfinished last line (whole false), and returns the bytes [at, to) that it occupies with its
// newline. It ignores line ends. A raw control character in the room equals the form that Format
// gives it, since earlier versions wrote them raw. If from is inside a line, the search begins with
// the next line. If the file is shorter than from, it was replaced, and find searches all of it.
func find(file *os.File, size int64, line []byte, from int64) (at, to int64, found, whole bool, err error) {
	if from == size {
		return 0, 0, false, false, nil
	}
	if from < 0 || from > size {
		from = 0
	}
	want := trimEOL(line)
	lines, atLine := newLineScanner(file, from, max(maxLine, len(want)))
	equal := func(raw []byte) bool {
		if len(raw) >= len(want) { // Format lengthens control characters
			return bytes.Equal(raw, want)
		}
		return screen.SanitizeControls(string(raw)) == string(want)
	}
	for atLine && lines.next() {
		if equal(trimEOL(lines.raw)) {
			return lines.from, lines.to, true, true, nil
		}
	}
	if atLine && len(want) > 0 {
		found = equal(lines.raw)
	}
	return lines.to, lines.to + int64(len(lines.raw)) + 1, found, false, lines.err
}

// open opens a room for reading: a regular file, or a link to a file that the user of
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

// clip returns the beginning of a line for an error message.
func clip(line []byte) []byte { return line[:min(len(line), 60)] }
