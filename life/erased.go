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

// Erasure is a line of LIFE.erased: the leaves of a line of the log before and after bytes of it
// were erased.
type Erasure struct{ Before, Now [32]byte }

// was returns the leaf of a line before the erasure. For a line that is not the erased one it returns the line's leaf.
func (e Erasure) was(line string) [32]byte {
	if leaf := Leaf(line); leaf != e.Now {
		return leaf
	}
	return e.Before
}

// Leaf returns the hash of a line, without its newline, for the tree over a log, by RFC 6962.
func Leaf(line string) [32]byte {
	return sha256.Sum256(append([]byte{0}, strings.TrimSuffix(line, "\n")...))
}

// ErasedPath returns the file beside a log that lists its partly erased lines.
func ErasedPath(path string) string { return strings.TrimSuffix(path, ".md") + ".erased" }

// maxErased is the largest LIFE.erased that is read, in bytes.
const maxErased = 1 << 28

// ReadErased returns the partly erased lines of the log at path, by their offsets. The map is empty
// if nothing was erased. The error of a bad line is a *CorruptError, whose Offset is the line's number.
func ReadErased(path string) (map[int64]Erasure, error) {
	out := map[int64]Erasure{}
	data, err := durable.ReadWhole(ErasedPath(path), maxErased)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read life: %w", err)
	}
	lines, number := bufio.NewScanner(bytes.NewReader(data)), int64(1)
	for ; lines.Scan(); number++ {
		var offset int64
		var before, now []byte
		_, err := fmt.Sscanf(lines.Text(), "%d %x %x", &offset, &before, &now)
		hashes := len(before) == 32 && len(now) == 32
		if err != nil || !hashes {
			return nil, &CorruptError{ErasedPath(path), number, "this line is not an offset and two hashes"}
		}
		out[offset] = Erasure{[32]byte(before), [32]byte(now)}
	}
	if lines.Err() != nil {
		return nil, &CorruptError{ErasedPath(path), number, "this line is too long"}
	}
	return out, nil
}

// EncodeErasure returns the line of LIFE.erased for the line of the log at an offset.
func EncodeErasure(offset int64, e Erasure) string {
	return fmt.Sprintf("%d %x %x\n", offset, e.Before, e.Now)
}

// chain checks the lines of a log one after the other.
type chain struct {
	path  string
	known map[int64]Erasure // read when a checksum does not fit for the first time
}

// erased reports whether the line at an offset is the rest of a partly erased one.
func (c *chain) erased(offset int64, line string) bool {
	if c.known == nil {
		c.known, _ = ReadErased(c.path)
	}
	e, ok := c.known[offset]
	return ok && e.Now == Leaf(line)
}
