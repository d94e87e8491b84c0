package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// maxWindow bounds the total bytes of the lines that After and Before return. A single line may be longer.
const maxWindow = 1 << 20

// After returns the first count whole lines of the room at path that begin at byte from or behind it and are not blank:
// fewer if they have more than 1 MiB together, but at least one. A missing room has no lines.
func After(path string, from int64, count int) ([]Line, error) {
	return scanLines(path, max(from, 0), said, func(lines []Line, next Line) bool {
		if len(lines) == 0 {
			return count > 0
		}
		return len(lines) < count && next.To-lines[0].From <= maxWindow
	})
}

// Find returns the last count lines of the room at path that end at byte to or before it and that fits accepts; a to
// below 0 is the end of the room. It reads backwards, up to the start of the room if fewer lines fit.
func Find(path string, to int64, count int, fits func(raw []byte) bool) (lines []Line, err error) {
	end, err := End(path)
	if err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, err)
	}
	if to < 0 || to > end.From {
		to = end.From
	}
	for to > 0 && len(lines) < count {
		from := max(to-maxWindow, 0)
		earlier, err := scanLines(path, from, fits, func(_ []Line, next Line) bool { return next.From < to })
		lines = append(earlier, lines...)
		if err != nil {
			return lines[max(0, len(lines)-count):], err
		}
		to -= maxWindow
	}
	return lines[max(0, len(lines)-count):], nil
}

// Before returns the last count lines of the room at path that end at byte to or before it and are not blank: fewer if
// they have more than 1 MiB together, but at least one. A to below 0 is the end of the room. It reads only as much of
// the file as it needs.
func Before(path string, to int64, count int) (lines []Line, err error) {
	end, err := End(path)
	if err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, err)
	}
	if to < 0 || to > end.From {
		to = end.From
	}
	for reach := min(int64(count)<<10, 64<<10); ; reach *= 4 { // most lines have less than a kilobyte
		from := max(to-reach, 0)
		lines, err = scanLines(path, from, said, func(_ []Line, next Line) bool { return next.To <= to })
		complete := from == 0 || len(lines) >= count
		fullWindow := reach > maxWindow && len(lines) > 0
		if err != nil || complete {
			break
		}
		if fullWindow {
			break
		}
	}
	lines = lines[max(0, len(lines)-count):]
	for len(lines) > 1 && to-lines[0].From > maxWindow {
		lines = lines[1:]
	}
	return lines, err
}

// SaidBy reports whether a user may have said something between two offsets of the room at path; -1 is its end. It
// looks at the last 1 MiB before to. If from is above 0, it also returns true for a longer part of the room, and for a
// line without a tag. It returns true if it cannot read the room.
func SaidBy(path, user string, from, to int64) bool {
	lines, err := Before(path, to, maxWindow)
	if err != nil {
		return true
	}
	if from > 0 && to-from > maxWindow {
		return true
	}
	return slices.ContainsFunc(lines, func(line Line) bool {
		if line.Agent || line.From < from {
			return false
		}
		if !line.Tagged {
			return from > 0
		}
		return strings.EqualFold(line.Name, user)
	})
}

func said(raw []byte) bool { return !blank(raw) }

// scanLines returns the lines that begin at or behind from and that fits accepts. Before each line it calls more with
// the lines so far, and stops if more returns false.
func scanLines(
	path string, from int64, fits func(raw []byte) bool, more func(lines []Line, next Line) bool,
) (lines []Line, err error) {
	file, _, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, err)
	}
	defer file.Close()
	whole, atLine := newLineScanner(file, from, maxLine)
	for atLine && whole.next() {
		line := Line{From: whole.from, To: whole.to}
		if !more(lines, line) {
			break
		}
		if !fits(whole.raw) {
			continue
		}
		line = Parse(bytes.Clone(whole.raw))
		line.From, line.To = whole.from, whole.to
		lines = append(lines, line)
	}
	if whole.err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, whole.err)
	}
	return lines, nil
}

// Make makes an empty room, durably. An existing room stays as it is, and Make returns false. On an error made may be
// true.
func Make(path string) (made bool, err error) {
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	}
	return true, touch(path)
}
