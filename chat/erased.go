package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"lethe/internal/durable"
)

// erasedPath returns the file beside a room that lists the places at which an erasure has changed
// Cursor.Before: a line "OFFSET BEFORE NOW" for each.
func erasedPath(path string) string { return strings.TrimSuffix(path, ext) + ".erased" }

// maxErasedList is the largest such file that is read, in bytes.
const maxErasedList = 64 << 20

// Holds reports whether the bytes before c in the room at path are unchanged, except for erased ones.
func (c Cursor) Holds(path string) bool {
	at, err := At(path, c.Offset)
	if err != nil {
		return false
	}
	return at.Before == c.Before || c.passed(path, at.Before)
}

// passed reports whether erasures alone have changed the bytes before c; now is their digest today.
func (c Cursor) passed(path, now string) bool {
	data, err := durable.ReadWhole(erasedPath(path), maxErasedList)
	if err != nil { // in most rooms nothing was erased
		return false
	}
	for line := range strings.Lines(string(data)) { // in order: a place that changed twice is listed twice
		var offset int64
		var before, after string
		_, err := fmt.Sscanf(line, "%d %s %s", &offset, &before, &after)
		if err != nil || offset != c.Offset {
			continue
		}
		if before == c.Before {
			c.Before = after
		}
	}
	return c.Before == now
}

// maxErasable is the largest room in which Erase works, in bytes.
const maxErasable = 1 << 30

// Erase overwrites pieces of the room at path, which are in order. Each piece has the length and the line ends of the
// bytes that it replaces. Readers lose no line and hear no line again, since Erase first notes the places whose
// Cursor.Before changes. After a crash it can be done again.
func Erase(path string, pieces ...durable.Piece) error {
	was, err := durable.ReadWhole(path, maxErasable)
	if err != nil || len(pieces) == 0 {
		return err
	}
	now := bytes.Clone(was)
	for _, piece := range pieces {
		copy(now[min(piece.At, int64(len(now))):], piece.Data)
	}
	noted, err := os.ReadFile(erasedPath(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for end := int(pieces[0].At); end < len(was); {
		line := bytes.IndexByte(was[end:], '\n')
		if line < 0 {
			break
		}
		end += line + 1
		if from := max(0, end-lookBack); !bytes.Equal(was[from:end], now[from:end]) {
			noted = fmt.Appendf(noted, "%d %s %s\n", end, digest(was[from:end]), digest(now[from:end]))
		}
	}
	if err := durable.WriteFile(erasedPath(path), noted, 0o600); err != nil {
		return err
	}
	return durable.Patch(path, pieces...)
}
