package chat

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/zeebo/blake3"
)

const (
	// lookBack is the number of bytes before the offset that Cursor.Before covers.
	lookBack = 4 << 10
	// remembered is the number of lines in Cursor.Last.
	remembered = 20

	// If a file lacks the lines that were heard, somebody may be rewriting it now.
	// Read waits until nobody has written it for quiet, and at most for settle.
	quiet  = 100 * time.Millisecond
	settle = time.Second
)

// Cursor is the place of a reader in a room. The zero Cursor is the start. It is
// plain data, about 500 bytes as JSON, made by Read and Tail.
type Cursor struct {
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`
	// Before is the Hash of the up to 4096 bytes before Offset; empty at 0.
	Before string `json:"before,omitempty"`
	// Last holds the hashes of the last lines before Offset that are not blank,
	// at most 20, oldest first.
	Last []string `json:"last,omitempty"`
}

// Batch is the result of one Read.
type Batch struct {
	Lines []Line // in file order, without blank ones
	Next  Cursor // the place for the next Read
	More  bool   // the read ended at its bound; the file goes on

	// Realigned is true if the text before the cursor was changed. Lines then begin
	// behind the last heard lines that are still there.
	Realigned bool
	// Restarted is true if all of the last heard lines are gone. Lines then begin
	// at the start of the file.
	Restarted bool
	// Missing is true if there is no such file. Next is then the given cursor, so
	// that nobody hears a room again that is moved away and back.
	Missing bool

	start  Cursor // the place before the first line
	window []byte // the bytes [base, Next.Offset) of the file, unless a line was cut
	base   int64
}

// After returns the cursor of a reader that has taken only the first count of
// Lines, 0 ≤ count ≤ len(Lines): for recording a batch in parts.
func (b Batch) After(count int) Cursor {
	switch count {
	case len(b.Lines):
		return b.Next
	case 0:
		return b.start
	}
	to := b.Lines[count-1].To
	return b.start.advance(b.Lines[:count], to, b.window[:to-b.base])
}

// advance returns the cursor behind lines, at offset to; before are bytes of the
// file that end there.
func (c Cursor) advance(lines []Line, to int64, before []byte) Cursor {
	var hashes []string
	for _, line := range lines[max(0, len(lines)-remembered):] {
		hashes = append(hashes, line.Hash)
	}
	c = c.remember(hashes)
	c.Offset = to
	return c.behind(before)
}

func (c Cursor) remember(hashes []string) Cursor {
	last := append(slices.Clone(c.Last), hashes...)
	c.Last = last[max(0, len(last)-remembered):]
	return c
}

// behind returns c with its Before; before are bytes of the file that end at its offset.
func (c Cursor) behind(before []byte) Cursor {
	c.Before = ""
	if c.Offset > 0 {
		c.Before = digest(before[max(0, len(before)-lookBack):])
	}
	return c
}

// Hash identifies a raw line: the first 16 hex digits of the BLAKE3 of its
// bytes without the line end, LF or CRLF.
func Hash(line []byte) string { return digest(trimEOL(line)) }

func digest(b []byte) string {
	sum := blake3.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Read returns the lines of the room at path that follow c. It reads whole
// lines of together at most maxBytes (1 MiB if that is not positive), and always
// the first line. It leaves a last line without newline for a later Read. It cuts
// a line longer than 2 MiB there; the last words of its Raw and Text then tell
// the length of the missing rest.
//
// While the bytes before the cursor are unchanged, Read goes on at the offset,
// even in another file. Otherwise the file was edited, and Read goes on after the
// last heard lines that are still in it (Realigned); heard lines that were edited
// or removed, and lines inserted among them, belong to the past. Read waits up to
// one second while somebody writes such a file. If all of the last 20 lines are
// gone, or the file is empty, it starts again (Restarted).
//
// The bytes of a file leave some cases open. Read decides them so:
//
//   - The newest line heard was edited: it is heard as a new line.
//   - The file was emptied and filled between two Reads, and a new line equals
//     one of the last 20 heard to the byte: it counts as that line.
//   - Everything around the cursor is equal lines and the file was edited
//     further up: the cursor goes to the equal place nearest to where it was.
//   - More than the last 20 lines heard were cut off: the rest is heard again.
func Read(path string, c Cursor, maxBytes int) (Batch, error) {
	r := reader{maxLine: maxLine, quiet: quiet, settle: settle}
	return r.read(path, c, maxBytes)
}

// reader holds the bounds of Read, which tests lower.
type reader struct {
	maxLine       int
	quiet, settle time.Duration
}

func (r reader) read(path string, cursor Cursor, maxBytes int) (Batch, error) {
	if maxBytes <= 0 {
		maxBytes = 1 << 20
	}
	for deadline := time.Now().Add(r.settle); ; time.Sleep(r.quiet / 4) {
		batch, settled, err := r.try(path, cursor, maxBytes, !time.Now().Before(deadline))
		if err != nil {
			return Batch{}, fmt.Errorf("read room %s: %w", path, err)
		}
		if settled {
			return batch, nil
		}
	}
}

// try is one attempt at a read. settled is false if somebody may be rewriting the
// file, unless force is set.
func (r reader) try(path string, cursor Cursor, maxBytes int, force bool) (batch Batch, settled bool, err error) {
	file, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Batch{Next: cursor, Missing: true, start: cursor}, true, nil
	}
	if err != nil {
		return Batch{}, false, err
	}
	defer file.Close()

	cursor.Offset = max(cursor.Offset, 0) // a damaged record may have any offset
	before, err := bytesBefore(file, cursor.Offset)
	if err != nil {
		return Batch{}, false, err
	}
	if cursor.Offset > 0 && !cursor.follows(path, before) { // the file was changed
		end, err := r.align(file, cursor)
		if err != nil {
			return Batch{}, false, err
		}
		if fi, err = file.Stat(); err != nil { // it may have changed meanwhile
			return Batch{}, false, err
		}
		if !force && r.beingWritten(fi) {
			return Batch{}, false, nil
		}
		batch.Realigned, batch.Restarted = end.found, !end.found
		cursor = Cursor{Offset: end.offset, Last: end.last}
		if before, err = bytesBefore(file, cursor.Offset); err != nil {
			return Batch{}, false, err
		}
	}
	cursor.Inode = inodeOf(fi)
	// A line that is appended after the open has an event of its own.
	rest := max(0, fi.Size()-cursor.Offset)
	if err := r.lines(file, cursor, before, int(min(int64(maxBytes), rest)), &batch); err != nil {
		return Batch{}, false, err
	}
	// A save in place since before was read could have moved a line under the offset.
	again, err := bytesBefore(file, cursor.Offset)
	return batch, force || bytes.Equal(again, before), err
}

// follows reports whether c still stands behind the bytes before its offset: they are
// unchanged, except for erased bytes.
func (c Cursor) follows(path string, before []byte) bool {
	if len(before) == 0 {
		return false
	}
	now := digest(before)
	return now == c.Before || c.passed(path, now)
}

// beingWritten reports whether a file changed less than quiet ago.
func (r reader) beingWritten(fi fs.FileInfo) bool {
	age := time.Since(fi.ModTime())
	return age >= 0 && age < r.quiet
}

// bytesBefore returns the bytes before offset, at most lookBack; fewer if the file
// is too short.
func bytesBefore(f io.ReaderAt, offset int64) ([]byte, error) {
	buf := make([]byte, min(offset, lookBack))
	n, err := f.ReadAt(buf, offset-int64(len(buf)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// lines fills batch with the lines behind cursor, at most maxBytes or one line. cursor is
// aligned; before are the bytes before it.
func (r reader) lines(file io.ReaderAt, cursor Cursor, before []byte, maxBytes int, batch *Batch) error {
	cursor = cursor.behind(before)
	batch.start, batch.base = cursor, cursor.Offset-int64(len(before))
	if maxBytes == 0 {
		batch.Next = cursor
		return nil
	}
	batch.window = slices.Grow(before, maxBytes)
	whole := newScanner(file, cursor.Offset, r.maxLine)
	end := cursor.Offset
	for whole.next() {
		if end > cursor.Offset && whole.to-cursor.Offset > int64(maxBytes) {
			batch.More = true
			break
		}
		if line := Parse(bytes.Clone(whole.raw)); !line.Blank() {
			line.From, line.To = whole.from, whole.to
			batch.Lines = append(batch.Lines, line)
		}
		batch.window = append(append(batch.window, whole.raw...), '\n')
		end = whole.to
		if whole.cut { // the window lacks the rest of this line, so it ends here
			batch.More = true
			break
		}
	}
	if whole.err != nil {
		return whole.err
	}
	tail := batch.window
	if end-batch.base != int64(len(batch.window)) {
		var err error
		if tail, err = bytesBefore(file, end); err != nil {
			return err
		}
	}
	batch.Next = cursor.advance(batch.Lines, end, tail)
	return nil
}

// Tail returns the last count lines of the room at path that are not blank, the total
// number of such lines, and the cursor before the first line that it returns. A
// missing room has no lines.
//
// It reads the file once, and holds only the lines that it returns and remembers.
func Tail(path string, count int) (lines []Line, total int, cursor Cursor, err error) {
	file, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, Cursor{}, nil
	}
	if err == nil {
		defer file.Close()
		cursor.Inode = inodeOf(fi)
		lines, total, err = tail(file, count, &cursor)
	}
	if err != nil {
		return nil, 0, Cursor{}, fmt.Errorf("read room %s: %w", path, err)
	}
	return lines, total, cursor, nil
}

func tail(file *os.File, count int, cursor *Cursor) (lines []Line, total int, err error) {
	// The last n lines, and before them the lines that the cursor remembers.
	ring := make([]Line, count+remembered)
	whole := newScanner(file, 0, maxLine)
	for whole.next() {
		if !blank(whole.raw) {
			kept := &ring[total%len(ring)]
			kept.Raw, kept.From, kept.To = append(kept.Raw[:0], whole.raw...), whole.from, whole.to
			total++
		}
	}
	cursor.Offset = whole.to
	for at := max(0, total-len(ring)); at < total; at++ {
		kept := ring[at%len(ring)]
		if at < total-count {
			cursor.Last = append(cursor.Last, Hash(kept.Raw))
			continue
		}
		line := Parse(kept.Raw)
		line.From, line.To = kept.From, kept.To
		lines = append(lines, line)
		cursor.Offset = lines[0].From
	}
	before, err := bytesBefore(file, cursor.Offset)
	*cursor = cursor.behind(before)
	return lines, total, errors.Join(err, whole.err)
}

// At returns the cursor at offset in the room at path, without Last: a writer makes
// it for the place behind its own line. The error wraps io.ErrUnexpectedEOF if the
// file ends before offset.
func At(path string, offset int64) (Cursor, error) {
	file, fi, err := open(path)
	var before []byte
	if err == nil {
		defer file.Close()
		before, err = bytesBefore(file, offset)
	}
	if err == nil && int64(len(before)) < min(offset, lookBack) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Cursor{}, fmt.Errorf("read room %s: %w", path, err)
	}
	return Cursor{Inode: inodeOf(fi), Offset: offset}.behind(before), nil
}

// Remember returns c with the lines of text added to Last.
func (c Cursor) Remember(text []byte) Cursor {
	var hashes []string
	for line := range bytes.Lines(text) {
		if !blank(trimEOL(line)) {
			hashes = append(hashes, Hash(line))
		}
	}
	return c.remember(hashes)
}
