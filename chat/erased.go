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

// erasedPath is the file beside a room that says of each place whose cursors an erasure has changed
// what Cursor.Before was and is: OFFSET BEFORE NOW, a line each.
func erasedPath(path string) string { return strings.TrimSuffix(path, ext) + ".erased" }

// maxErasedList bounds what is read of that file, in bytes.
const maxErasedList = 64 << 20

// Holds reports whether what c has passed of the room at path is still there, but for what was erased.
func (c Cursor) Holds(path string) bool {
	at, err := At(path, c.Offset)
	return err == nil && (at.Before == c.Before || c.passed(path, at.Before))
}

// passed reports whether c stands in a room where it stood before bytes there were erased: now is
// what Before would be today.
func (c Cursor) passed(path, now string) bool {
	data, err := durable.ReadWhole(erasedPath(path), maxErasedList)
	if err != nil { // mostly, nothing was erased here
		return false
	}
	for line := range strings.Lines(string(data)) { // in order: what was erased twice comes twice
		var offset int64
		var before, after string
		_, err := fmt.Sscanf(line, "%d %s %s", &offset, &before, &after)
		if err == nil && offset == c.Offset && before == c.Before {
			c.Before = after
		}
	}
	return c.Before == now
}

// maxErasable bounds a room in which something is erased, in bytes.
const maxErasable = 1 << 30

// Erase writes pieces into the room at path, in order, each as long as what it takes the place of and of the same
// lines. A reader loses nothing by it and hears nothing again: the places of cursors are noted first. Done again
// after a crash it ends the same.
func Erase(path string, pieces ...durable.Piece) error {
	was, err := durable.ReadWhole(path, maxErasable)
	if err != nil || len(pieces) == 0 {
		return err
	}
	now := bytes.Clone(was)
	for _, p := range pieces {
		copy(now[min(p.At, int64(len(now))):], p.Data)
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
