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

// maxWindow bounds the bytes of the lines that After and Before return together, as far as they
// are more than one.
const maxWindow = 1 << 20

// After returns up to n whole lines of the room at path that begin at byte from or behind it and
// are not blank, of together at most 1 MiB, or one. A missing room has none.
func After(path string, from int64, n int) ([]Line, error) {
	return scanLines(path, max(from, 0), said, func(l []Line, next Line) bool {
		return len(l) < n && (len(l) == 0 || next.To-l[0].From <= maxWindow)
	})
}

// Find returns the last up to n lines of the room at path that end at byte to or before it and that fit, as they stand
// in the file; with a to below 0 those before the end. It reads backwards, and all of the room where there are fewer.
func Find(path string, to int64, n int, fits func(raw []byte) bool) (lines []Line, err error) {
	end, err := End(path)
	if err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, err)
	}
	if to < 0 || to > end.From {
		to = end.From
	}
	for ; to > 0 && len(lines) < n && err == nil; to -= maxWindow {
		var some []Line
		from := max(to-maxWindow, 0)
		some, err = scanLines(path, from, fits, func(_ []Line, next Line) bool { return next.From < to })
		lines = append(some, lines...)
	}
	return lines[max(0, len(lines)-n):], err
}

// Before returns the last up to n lines of the room at path that end at byte to or before it and
// are not blank, of together at most 1 MiB, or one; with a to below 0 those before the end. It reads
// no more of the file than it has to.
func Before(path string, to int64, n int) (lines []Line, err error) {
	end, err := End(path)
	if err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, err)
	}
	if to < 0 || to > end.From {
		to = end.From
	}
	for reach := min(int64(n)<<10, 64<<10); ; reach *= 4 { // most lines have less than a kilobyte
		from := max(to-reach, 0)
		lines, err = scanLines(path, from, said, func(_ []Line, next Line) bool { return next.To <= to })
		if err != nil || len(lines) >= n || from == 0 || reach > maxWindow && len(lines) > 0 {
			break
		}
	}
	lines = lines[max(0, len(lines)-n):]
	for len(lines) > 1 && to-lines[0].From > maxWindow {
		lines = lines[1:]
	}
	return lines, err
}

// SaidBy reports whether a user has said something between two offsets of the room at path, of its newest 1 MiB before to;
// -1 is its end. From an offset above 0 on, what nobody can tell counts as said: more than that, and what nobody has
// signed.
func SaidBy(path, user string, from, to int64) bool {
	lines, err := Before(path, to, maxWindow)
	return err != nil || from > 0 && to-from > maxWindow || slices.ContainsFunc(lines, func(l Line) bool {
		return !l.Agent && l.From >= from && (l.Tagged && strings.EqualFold(l.Name, user) || !l.Tagged && from > 0)
	})
}

func said(raw []byte) bool { return !blank(raw) }

// scanLines returns the lines that begin at or behind from and that fit, as long as more wants them.
func scanLines(
	path string, from int64, fits func(raw []byte) bool, more func(lines []Line, next Line) bool,
) (lines []Line, err error) {
	f, _, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, err)
	}
	defer f.Close()
	s, atLine := newLineScanner(f, from, maxLine)
	for atLine && s.next() {
		l := Line{From: s.from, To: s.to}
		if !more(lines, l) {
			break
		}
		if !fits(s.raw) {
			continue
		}
		l = Parse(bytes.Clone(s.raw))
		l.From, l.To = s.from, s.to
		lines = append(lines, l)
	}
	if s.err != nil {
		return nil, fmt.Errorf("read room %s: %w", path, s.err)
	}
	return lines, nil
}

// Make makes an empty room, durably, with its directory; one that is there stays as it is. It says
// whether the room is new.
func Make(path string) (made bool, err error) {
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	}
	return true, touch(path)
}
