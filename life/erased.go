package life

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"lethe/internal/durable"
)

// Erasure is what LIFE.erased says of a line of which bytes were erased: the hashes of its leaf as
// it was and as it is.
type Erasure struct{ Before, Now [32]byte }

// was is the leaf of a line before the erasure, if it is what that has left.
func (e Erasure) was(line string) [32]byte {
	if leaf := Leaf(line); leaf != e.Now {
		return leaf
	}
	return e.Before
}

// Leaf is the hash of a line in the tree over a log, as RFC 6962 has it. A newline at its end is no part of it.
func Leaf(line string) [32]byte {
	return sha256.Sum256(append([]byte{0}, strings.TrimSuffix(line, "\n")...))
}

// ErasedPath is the file beside a log that lists its lines of which bytes were erased.
func ErasedPath(path string) string { return strings.TrimSuffix(path, ".md") + ".erased" }

// maxErased bounds what is read of LIFE.erased, in bytes.
const maxErased = 1 << 28

// ReadErased reads which lines of the log at path were erased in part, by the offset of each.
// Of a log of which nothing was erased there are none.
func ReadErased(path string) (map[int64]Erasure, error) {
	out := map[int64]Erasure{}
	data, err := durable.ReadWhole(ErasedPath(path), maxErased)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read life: %w", err)
	}
	for n, s := 1, bufio.NewScanner(bytes.NewReader(data)); s.Scan(); n++ {
		var offset int64
		var before, now []byte
		if _, err := fmt.Sscanf(s.Text(), "%d %x %x", &offset, &before, &now); err != nil || len(before) != 32 || len(now) != 32 {
			return nil, &CorruptError{ErasedPath(path), int64(n), "this line is not an offset and two hashes"}
		}
		out[offset] = Erasure{[32]byte(before), [32]byte(now)}
	}
	return out, nil
}

// EncodeErasure is the line of LIFE.erased for a line of the log.
func EncodeErasure(offset int64, e Erasure) string {
	return fmt.Sprintf("%d %x %x\n", offset, e.Before, e.Now)
}

// chain is a log whose lines are checked one after the other.
type chain struct {
	path  string
	known map[int64]Erasure // once a checksum did not fit
}

// erased reports whether the line at an offset is what an erasure has left there.
func (c *chain) erased(offset int64, line string) bool {
	if c.known == nil {
		c.known, _ = ReadErased(c.path)
	}
	e, ok := c.known[offset]
	return ok && e.Now == Leaf(line)
}
