package tools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"lethe/agent/tools/document"
	"lethe/internal/secret/shape"
	"lethe/internal/style"
	"lethe/mind"
)

const (
	pageLines = 2000     // lines of a page, unless limit asks for fewer
	pageBytes = 64 << 10 // bytes of a page, whatever limit asks for
	lineBytes = 2000     // bytes of a line that are shown among others
	sniffed   = 8 << 10  // bytes looked at to tell text from binary
	// struckWhole bounds the bytes of a file out of which secrets are taken before a page cuts one in two.
	struckWhole = 4 << 20
	scanBytes   = 1 << 30 // bytes of a file in which lines are looked for: a file with holes may have any size
)

type readArgs struct {
	Path   string  `json:"path"`
	Offset integer `json:"offset,omitempty" about:"first line; -50: the last 50"`
	Limit  integer `json:"limit,omitempty"`
	Column integer `json:"column,omitempty" about:"byte of the line"`

	Outline integer `json:"outline,omitempty" about:"1: headings, declarations"`
}

func (s *Set) read(ctx context.Context, c Call, a readArgs) (Result, error) {
	if hash, ok := refOf(a.Path); ok {
		return s.readRef(ctx, c, hash, a)
	}
	p, err := s.resolve(a.Path)
	if err != nil {
		return Result{}, err
	}
	if p.own == guideName {
		return s.render(ctx, c, strings.NewReader(guide), int64(len(guide)), p.shown, a)
	}
	if a.Outline != 0 {
		return s.outline(ctx, c, p, a)
	}
	saw, _ := s.present(p) // without one, it is as if nobody had seen it
	file, fi, err := p.open()
	if err != nil {
		return Result{}, err
	}
	defer file.Close()
	r, err := s.render(ctx, c, file, fi.Size(), p.shown, a)
	if saw != nil {
		r.Saw = *saw
	}
	return r, err
}

// StillReads reports whether READ_FILE with these arguments would show the lines of a result again, and the same size; or
// whether a file is as WRITE_FILE with these left it. It is true for what is outside of the workspace, and for a result
// without lines.
func (s *Set) StillReads(ctx context.Context, args, result string) bool {
	var a struct {
		readArgs
		Content string
	}
	_ = json.Unmarshal([]byte(args), &a)
	p, err := s.resolve(a.Path)
	_, isRef := refOf(a.Path)
	head, lines, _ := strings.Cut(result, "\n")
	_, size, tells := strings.Cut(head, " of ")
	inWorkspace := err == nil && p.own == "" && !isRef && !strings.HasPrefix(a.Path, "rooms/")
	if inWorkspace && a.Content != "" {
		now, err := p.version()
		return err == nil && (len(now.Text) > maxEdit || string(shape.Bytes([]byte(now.Text))) == a.Content)
	}
	if !inWorkspace || !tells {
		return true
	}
	size, _, _ = strings.Cut(strings.TrimSuffix(size, "]"), ";")
	lines, _, _ = strings.Cut(strings.TrimRight(lines, "\n"), "…[line ")
	now, err := s.read(ctx, Call{}, a.readArgs)
	head, shown, _ := strings.Cut(mind.Result(now.Body), "\n")
	isSame := err == nil && strings.Contains(head, " of "+size) && strings.HasPrefix(shown, lines)
	return isSame || ctx.Err() != nil
}

// render shows the asked part of a file, or describes a file that is not text.
func (s *Set) render(
	ctx context.Context, c Call, r io.ReadSeeker, size int64, name string, a readArgs,
) (Result, error) {
	text := scanner{ctx: ctx, r: bufio.NewReaderSize(io.LimitReader(r, scanBytes), 64<<10)}
	head, err := text.r.Peek(sniffed)
	if document.Is(head) {
		extracted, err := extract(ctx, text.r, size)
		if err != nil {
			return failf("take the text out of %s: %v", name, err), nil
		}
		r, size, name, head = bytes.NewReader(extracted), int64(len(extracted)), "text of "+name, nil
		text.r.Reset(r)
	}
	if isBinary(head) {
		return Result{Body: describeBinary(head, size, name)}, nil
	}
	page := ""
	if size <= struckWhole {
		whole, err := io.ReadAll(text.r)
		if err != nil {
			return Result{}, fmt.Errorf("read %s: %w", name, err)
		}
		whole = shape.Bytes(whole)
		if strings.HasPrefix(http.DetectContentType(bytes.TrimPrefix(whole, []byte("\ufeff"))), "text/html") {
			page = string(whole)
		}
		r = bytes.NewReader(whole)
		text.r.Reset(r)
	}
	if a.Offset < 0 && size > scanBytes {
		err = fmt.Errorf("it has %s, too much to count from its end. Use BASH, like tail -n 20", sizeText(size))
	} else if a.Offset < 0 {
		if err = text.rest(); err == nil {
			a.Offset = max(1, integer(text.line)+1+a.Offset)
			_, err = r.Seek(0, io.SeekStart)
			text.r.Reset(r)
			text.line = 0
		}
	}
	var body []byte
	text.note = style.Hidden(page, int(a.Offset), int(a.Column))
	if err == nil || err == io.EOF {
		body, err = text.page(size, name, a, cmp.Or(c.Most, pageBytes), s.Weight)
	}
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", name, err)
	}
	return Result{Body: body, Bounded: true}, nil
}

// extract returns the text of a PDF or an office file.
func extract(ctx context.Context, r io.Reader, size int64) ([]byte, error) {
	if size > document.MaxFile {
		return nil, fmt.Errorf("it has %s, and at most %s can be read", sizeText(size), sizeText(document.MaxFile))
	}
	file, err := io.ReadAll(io.LimitReader(r, document.MaxFile))
	if err != nil {
		return nil, err
	}
	return document.Text(ctx, file)
}

func isBinary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

func describeBinary(head []byte, size int64, name string) []byte {
	struck, _ := shape.Strike(string(head))
	head = []byte(struck)
	return fmt.Appendf(nil, "[%s: binary file, %d bytes, looks like %s. Not shown as text; its first bytes:]\n%s",
		name, size, http.DetectContentType(head), hex.Dump(head[:min(256, len(head))]))
}

// page shows lines [Offset, Offset+Limit) that weigh at most left. The line above them tells their numbers, the number
// of all lines, and the next offset.
func (s *scanner) page(size int64, name string, a readArgs, left int, weigh func(string) int) ([]byte, error) {
	first, column := max(int64(a.Offset), 1), max(int64(a.Column), 1)
	limit, most := int64(pageLines), lineBytes
	if a.Limit > 0 {
		limit = min(limit, int64(a.Limit))
	}
	if limit == 1 || column > 1 { // a line that is asked for alone is shown up to the bound of the page
		limit, most = 1, pageBytes
	}
	most = min(most, left)
	var body bytes.Buffer
	var err error
	for err == nil && s.line < first-1 {
		_, _, err = s.next(0, 0)
	}
	last, slack := first-1, 0
	if left >= leastCut {
		slack = leastCut
	}
	for err == nil && last-first+1 < limit {
		var text string
		var length int64
		if text, length, err = s.next(column-1, most); err != nil {
			break
		}
		line := lineShown(text, length, s.line, column)
		left -= weigh(line)
		full := left < 0 && body.Len() > 0
		if full && !s.endsWithin(left+slack) {
			break
		}
		body.WriteString(line)
		last = s.line
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	total := "more than " + fmt.Sprint(s.line)
	if _, err := s.r.Peek(1); err == io.EOF || size <= scanBytes {
		if err := s.rest(); err != nil {
			return nil, err
		}
		total = fmt.Sprint(s.line)
	}
	switch {
	case s.line == 0:
		return fmt.Appendf(nil, "[%s: empty file]\n", name), nil
	case last < first && size > scanBytes:
		return nil, fmt.Errorf("offset %d is beyond the first %s of it, which hold %s lines. Use BASH, like "+
			"tail -n 20", first, sizeText(scanBytes), total)
	case last < first:
		return nil, fmt.Errorf("offset %d is beyond the end: the file has %s lines; offset -20 shows the "+
			"last 20", first, total)
	}
	name = strings.ReplaceAll(name, "\n", " ") // what is told here is one line
	head := fmt.Appendf(nil, "[%s: lines %d-%d of %s, %s", name, first, last, total, sizeText(size))
	if last-first+1 < s.line {
		head = append(head, "; hash "+span(first, last, body.String())...)
	}
	if column > 1 {
		head = fmt.Appendf(head, "; line %d from column %d", first, column)
	}
	if fmt.Sprint(last) != total {
		head = fmt.Appendf(head, "; next page: offset %d", last+1)
	}
	return append(append(head, s.note+"]\n"...), body.Bytes()...), nil
}

// lineShown returns a line, with a mark if a part of it is left out.
func lineShown(text string, length, line, column int64) string {
	shown := column - 1 + int64(len(text))
	if left := length - shown; left > 0 {
		text += fmt.Sprintf("…[line %d goes on for %d bytes: offset %d, column %d]", line, left, line, shown+1)
	}
	return text + "\n"
}

// scanner reads lines of any length. It holds only the bytes of a line that are asked for.
type scanner struct {
	ctx  context.Context
	r    *bufio.Reader
	line int64  // lines that were begun
	note string // for the end of the line above a page
}

// endsWithin reports whether at most so many bytes of the text are left.
func (s *scanner) endsWithin(n int) bool {
	if n < 0 {
		return false
	}
	_, err := s.r.Peek(n + 1)
	return err == io.EOF
}

// next reads one line. It returns up to most bytes of it from byte skip on, cut at a
// rune, and the length of the whole line without its newline.
func (s *scanner) next(skip int64, most int) (text string, length int64, err error) {
	var kept []byte
	for begun := false; ; begun = true {
		if s.ctx.Err() != nil {
			return "", 0, errors.New("interrupted")
		}
		part, err := s.r.ReadSlice('\n')
		atEnd := err == io.EOF && len(part) == 0
		if atEnd && !begun {
			return "", 0, io.EOF
		}
		if !begun {
			s.line++
		}
		line, ended := bytes.CutSuffix(part, []byte{'\n'})
		from := min(max(skip-length, 0), int64(len(line)))
		kept = append(kept, line[from:min(int64(len(line)), from+int64(most+1-len(kept)))]...)
		length += int64(len(line))
		if ended || err == io.EOF {
			return clip(string(kept), most), length, nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return "", 0, err
		}
	}
}

// rest counts the lines that are left, as editors do: a last line needs no newline.
func (s *scanner) rest() (err error) {
	for err == nil {
		_, _, err = s.next(0, 0)
	}
	if err == io.EOF {
		return nil
	}
	return err
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
