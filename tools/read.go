package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	pageLines = 2000     // lines of a page, unless limit asks for fewer
	pageBytes = 64 << 10 // bytes of a page, whatever limit asks for
	lineBytes = 2000     // bytes of a line that are shown among others
	sniffed   = 8 << 10  // bytes looked at to tell text from binary
)

// maxRead bounds the files that are looked at, in bytes, at what a command's
// output can be: one call counts all lines, and a file with holes can be without end.
const maxRead int64 = maxSpool

type readArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset,omitempty"`
	Limit  int64  `json:"limit,omitempty"`
	Column int64  `json:"column,omitempty"`
}

func (f *files) read(ctx context.Context, c Call) Result {
	a := readArgs{Offset: 1, Limit: pageLines, Column: 1}
	if err := Decode(c.Args, &a); err != nil {
		return failure(err)
	}
	if a.Limit < 1 || a.Column < 1 {
		return failf("limit and column must be at least 1; offset is the first line to show, counted from 1, or negative to count from the end")
	}
	if hash, ok := refOf(a.Path); ok {
		return f.readRef(ctx, hash, a)
	}
	p, err := f.resolve(a.Path)
	if err != nil {
		return failure(err)
	}
	file, fi, err := p.open()
	if err != nil {
		return failure(err)
	}
	defer file.Close()
	if fi.Size() > maxRead {
		return failf("read %s: it has %s and READ_FILE takes at most %s. Use BASH, like tail -n 20 or sed -n 1,20p", p.shown, sizeText(fi.Size()), sizeText(maxRead))
	}
	body, err := render(ctx, file, fi.Size(), p.shown, a)
	if err != nil {
		return failf("read %s: %v", p.shown, err)
	}
	return Result{Body: body}
}

// render shows the asked part of a file, or describes one that is not text.
func render(ctx context.Context, r io.ReadSeeker, size int64, name string, a readArgs) ([]byte, error) {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	if head = head[:n]; isBinary(head) {
		return describeBinary(head, size, name), nil
	}
	rewind := func() error { _, err := r.Seek(0, io.SeekStart); return err }
	if err := rewind(); err != nil {
		return nil, err
	}
	if a.Offset == 0 {
		a.Offset = 1
	}
	if a.Offset < 0 {
		total, err := countLines(ctx, r)
		if err != nil {
			return nil, err
		}
		a.Offset = max(1, total+1+a.Offset)
		if err := rewind(); err != nil {
			return nil, err
		}
	}
	return page(ctx, r, size, name, a)
}

func isBinary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

func describeBinary(head []byte, size int64, name string) []byte {
	kind := http.DetectContentType(head)
	if bytes.HasPrefix(head, []byte("\x7fELF")) {
		kind = "ELF executable or library"
	}
	return fmt.Appendf(nil, "[%s: binary file, %d bytes, looks like %s. Not shown as text; its first bytes:]\n%s",
		name, size, kind, hex.Dump(head[:min(256, len(head))]))
}

// page shows lines [Offset, Offset+Limit) of r within the bounds, below a line
// that says which they are, how many there are, and how to go on.
func page(ctx context.Context, r io.Reader, size int64, name string, a readArgs) ([]byte, error) {
	s := scanner{ctx: ctx, r: bufio.NewReaderSize(r, 64<<10)}
	// A line that is asked for alone is shown up to the bound of the page.
	most := lineBytes
	if a.Limit == 1 || a.Column > 1 {
		a.Limit, most = 1, pageBytes
	}
	var body bytes.Buffer
	last := a.Offset - 1
	for s.line-a.Offset+1 < a.Limit { // a sum could overflow
		wanted := s.line+1 >= a.Offset
		room := 0
		if wanted {
			room = most
			if body.Len()+lineBytes > pageBytes && s.line+1 > a.Offset {
				break
			}
		}
		text, length, err := s.next(a.Column-1, room, wanted)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if wanted {
			last = s.line
			writeLine(&body, text, length, s.line, a.Column)
		}
	}
	if err := s.rest(); err != nil {
		return nil, err
	}
	head, err := heading(name, size, s.line, last, a)
	if err != nil {
		return nil, err
	}
	return append(head, body.Bytes()...), nil
}

func writeLine(body *bytes.Buffer, text []byte, length, line, column int64) {
	body.Write(text)
	shown := column - 1 + int64(len(text))
	if left := length - shown; left > 0 {
		fmt.Fprintf(body, "…[line %d goes on for %d bytes: offset %d, column %d]", line, left, line, shown+1)
	}
	body.WriteByte('\n')
}

func heading(name string, size, total, last int64, a readArgs) ([]byte, error) {
	if total == 0 {
		return fmt.Appendf(nil, "[%s: empty file]\n", name), nil
	}
	if a.Offset > total {
		return nil, fmt.Errorf("offset %d is beyond the end: the file has %d lines; offset -20 shows the last 20", a.Offset, total)
	}
	head := fmt.Appendf(nil, "[%s: lines %d-%d of %d, %s", name, a.Offset, last, total, sizeText(size))
	if a.Column > 1 {
		head = fmt.Appendf(head, "; line %d from column %d", a.Offset, a.Column)
	}
	if last < total {
		head = fmt.Appendf(head, "; next page: offset %d", last+1)
	}
	return append(head, "]\n"...), nil
}

// scanner reads lines of any length without holding more of them than asked.
type scanner struct {
	ctx  context.Context
	r    *bufio.Reader
	line int64 // lines that were begun
}

// next reads one line. When keep is set it returns up to room bytes of it from
// byte skip on, cut at a rune, and the length of the whole line without its
// newline.
func (s *scanner) next(skip int64, room int, keep bool) (text []byte, length int64, err error) {
	begun := false
	for {
		if err := s.ctx.Err(); err != nil {
			return nil, 0, fmt.Errorf("interrupted: %w", err)
		}
		part, err := s.r.ReadSlice('\n')
		if len(part) > 0 && !begun {
			begun = true
			s.line++
		}
		ended := bytes.HasSuffix(part, []byte{'\n'})
		part = bytes.TrimSuffix(part, []byte{'\n'})
		if keep {
			from := min(max(skip-length, 0), int64(len(part)))
			text = append(text, part[from:min(int64(len(part)), from+int64(room-len(text)))]...)
		}
		length += int64(len(part))
		switch {
		case ended || errors.Is(err, io.EOF) && begun:
			if length > skip+int64(len(text)) {
				text = cutRune(text)
			}
			return text, length, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
	}
}

// rest counts the lines that are left.
func (s *scanner) rest() error {
	n, err := countLines(s.ctx, s.r)
	s.line += n
	return err
}

// countLines counts as editors do: a last line needs no newline.
func countLines(ctx context.Context, r io.Reader) (int64, error) {
	var n int64
	last := byte('\n')
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("interrupted: %w", err)
		}
		k, err := r.Read(buf)
		if k > 0 {
			n += int64(bytes.Count(buf[:k], []byte{'\n'}))
			last = buf[k-1]
		}
		if err == io.EOF {
			if last != '\n' {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// cutRune takes off the bytes of a rune that was cut in two.
func cutRune(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-3); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

func sizeText(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	units := []string{"KB", "MB", "GB", "TB"}
	v := float64(n) / 1024
	for v >= 1024 && len(units) > 1 {
		v, units = v/1024, units[1:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[0]
}
