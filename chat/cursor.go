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
	// lookBack is how many bytes before the offset Cursor.Before covers.
	lookBack = 4 << 10
	// remembered is how many lines Cursor.Last holds.
	remembered = 20

	// A file that no longer holds what was heard may be half-way through being
	// rewritten. Read waits until it was left alone for quiet, at most settle.
	quiet  = 100 * time.Millisecond
	settle = time.Second
)

// Cursor is where a reader stands in a room. The zero Cursor stands at the
// start. It is plain data, about 500 bytes as JSON, made by Read and Tail.
type Cursor struct {
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`
	// Before is the Hash of the up to 4096 bytes before Offset; empty at 0.
	Before string `json:"before,omitempty"`
	// Last holds the Hash of each of the up to 20 last lines that are not blank
	// before Offset, oldest first.
	Last []string `json:"last,omitempty"`
}

// Batch is what one Read found.
type Batch struct {
	Lines []Line // in file order, without blank ones
	Next  Cursor // where the next Read goes on
	More  bool   // the read ended at its bound; the file goes on

	// Realigned: what the cursor had passed was changed, and Lines go on after
	// the last lines heard that are still there.
	Realigned bool
	// Restarted: nothing of the last lines heard is there any more, and Lines
	// are from the start of the file.
	Restarted bool
	// Missing: there is no such file. Next is the cursor that was given, so that
	// a room that is moved away and back is not heard again.
	Missing bool

	start  Cursor // before the first line, as aligned
	window []byte // the bytes of the file [base, Next.Offset), unless a line was cut
	base   int64
}

// After is the cursor of a reader that has taken only the first n of Lines,
// 0 ≤ n ≤ len(Lines): for recording a batch in parts.
func (b Batch) After(n int) Cursor {
	switch n {
	case len(b.Lines):
		return b.Next
	case 0:
		return b.start
	}
	to := b.Lines[n-1].To
	return b.start.advance(b.Lines[:n], to, b.window[:to-b.base])
}

// advance is the cursor behind lines, at offset to; before are bytes of the
// file that end there.
func (c Cursor) advance(lines []Line, to int64, before []byte) Cursor {
	var hashes []string
	for _, l := range lines[max(0, len(lines)-remembered):] {
		hashes = append(hashes, l.Hash)
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

// behind is c with Before, which before, the bytes that end at its offset, give.
func (c Cursor) behind(before []byte) Cursor {
	c.Before = ""
	if c.Offset > 0 {
		c.Before = digest(before[max(0, len(before)-lookBack):])
	}
	return c
}

// Hash identifies a raw line: the first 16 hex digits of the BLAKE3 of its
// bytes. A line end, LF or CRLF, does not count.
func Hash(line []byte) string { return digest(trimEOL(line)) }

func digest(b []byte) string {
	sum := blake3.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Read returns the lines of the room at path that follow c. It reads whole
// lines of together at most maxBytes (1 MiB when that is not positive); the
// first line comes whatever its length. A last line without newline waits for
// it. Of a line longer than 2 MiB only that much is ever heard; the last words of
// its Raw and Text then say how much is missing.
//
// While the bytes before the cursor are what they were, Read goes on at the
// offset, whichever file it is now. Otherwise the file was edited, and Read
// goes on after the last lines heard that are still in it (Realigned); heard
// lines that were edited or removed, and lines inserted among them, belong to
// the past. While such a file is being written, Read waits for it, up to one
// second. If none of the last 20 lines is left, or the file is empty, it starts
// again (Restarted).
//
// What cannot be decided from the bytes of a file is decided so:
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

func (r reader) read(path string, c Cursor, maxBytes int) (Batch, error) {
	if maxBytes <= 0 {
		maxBytes = 1 << 20
	}
	for deadline := time.Now().Add(r.settle); ; time.Sleep(r.quiet / 4) {
		b, settled, err := r.try(path, c, maxBytes, !time.Now().Before(deadline))
		if err != nil {
			return Batch{}, fmt.Errorf("read room %s: %w", path, err)
		}
		if settled {
			return b, nil
		}
	}
}

// try is one attempt at a read. It is not settled when the file may be half
// rewritten, unless force is set.
func (r reader) try(path string, c Cursor, maxBytes int, force bool) (b Batch, settled bool, err error) {
	f, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Batch{Next: c, Missing: true, start: c}, true, nil
	}
	if err != nil {
		return Batch{}, false, err
	}
	defer f.Close()

	c.Offset = max(c.Offset, 0) // a record that is damaged
	before, err := bytesBefore(f, c.Offset)
	if err != nil {
		return Batch{}, false, err
	}
	now := digest(before)
	same := len(before) > 0 && (now == c.Before || c.passed(path, now))
	if c.Offset > 0 && !same { // the file was changed
		end, err := r.align(f, c)
		if err != nil {
			return Batch{}, false, err
		}
		if fi, err = f.Stat(); err != nil { // it may have changed meanwhile
			return Batch{}, false, err
		}
		if age := time.Since(fi.ModTime()); !force && age >= 0 && age < r.quiet {
			return Batch{}, false, nil
		}
		b.Realigned, b.Restarted = end.found, !end.found
		c = Cursor{Offset: end.offset, Last: end.last}
		if before, err = bytesBefore(f, c.Offset); err != nil {
			return Batch{}, false, err
		}
	}
	c.Inode = inodeOf(fi)
	// What is appended after the open has an event of its own.
	rest := max(0, fi.Size()-c.Offset)
	if err := r.lines(f, c, before, int(min(int64(maxBytes), rest)), &b); err != nil {
		return Batch{}, false, err
	}
	// A save in place since before was read could have moved a line under the offset.
	again, err := bytesBefore(f, c.Offset)
	return b, force || bytes.Equal(again, before), err
}

// bytesBefore returns the up to lookBack bytes before offset; fewer if the file
// is too short.
func bytesBefore(f io.ReaderAt, offset int64) ([]byte, error) {
	buf := make([]byte, min(offset, lookBack))
	n, err := f.ReadAt(buf, offset-int64(len(buf)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// lines fills b with at most maxBytes, or one line, of what follows c, which is
// aligned; before are the bytes before it.
func (r reader) lines(f io.ReaderAt, c Cursor, before []byte, maxBytes int, b *Batch) error {
	c = c.behind(before)
	b.start, b.base = c, c.Offset-int64(len(before))
	if maxBytes == 0 {
		b.Next = c
		return nil
	}
	b.window = slices.Grow(before, maxBytes)
	s := newScanner(f, c.Offset, r.maxLine)
	end := c.Offset
	for s.next() {
		if end > c.Offset && s.to-c.Offset > int64(maxBytes) {
			b.More = true
			break
		}
		if l := Parse(bytes.Clone(s.raw)); !l.Blank() {
			l.From, l.To = s.from, s.to
			b.Lines = append(b.Lines, l)
		}
		b.window = append(append(b.window, s.raw...), '\n')
		end = s.to
		if s.cut { // the window ends here: it does not hold what was cut off
			b.More = true
			break
		}
	}
	if s.err != nil {
		return s.err
	}
	tail := b.window
	if end-b.base != int64(len(b.window)) {
		var err error
		if tail, err = bytesBefore(f, end); err != nil {
			return err
		}
	}
	b.Next = c.advance(b.Lines, end, tail)
	return nil
}

// Tail returns the last n lines of the room at path that are not blank, how
// many such lines it holds in all, and the cursor before the first of those
// returned. A missing room has none.
//
// It passes over the file once, and holds no more than the lines it returns and remembers.
func Tail(path string, n int) (lines []Line, total int, c Cursor, err error) {
	f, fi, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, Cursor{}, nil
	}
	if err == nil {
		defer f.Close()
		c.Inode = inodeOf(fi)
		lines, total, err = tail(f, n, &c)
	}
	if err != nil {
		return nil, 0, Cursor{}, fmt.Errorf("read room %s: %w", path, err)
	}
	return lines, total, c, nil
}

func tail(f *os.File, n int, c *Cursor) (lines []Line, total int, err error) {
	// The last n lines, and before them those that the cursor remembers.
	ring := make([]Line, n+remembered)
	s := newScanner(f, 0, maxLine)
	for s.next() {
		if !blank(s.raw) {
			kept := &ring[total%len(ring)]
			kept.Raw, kept.From, kept.To = append(kept.Raw[:0], s.raw...), s.from, s.to
			total++
		}
	}
	c.Offset = s.to
	for i := max(0, total-len(ring)); i < total; i++ {
		kept := ring[i%len(ring)]
		if i < total-n {
			c.Last = append(c.Last, Hash(kept.Raw))
			continue
		}
		l := Parse(kept.Raw)
		l.From, l.To = kept.From, kept.To
		lines = append(lines, l)
		c.Offset = lines[0].From
	}
	before, err := bytesBefore(f, c.Offset)
	*c = c.behind(before)
	return lines, total, errors.Join(err, s.err)
}

// At returns the cursor that stands at offset in the room at path, without the
// lines before it: what a writer knows of the place behind its own line.
func At(path string, offset int64) (Cursor, error) {
	f, fi, err := open(path)
	var before []byte
	if err == nil {
		defer f.Close()
		before, err = bytesBefore(f, offset)
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
