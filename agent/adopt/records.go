package adopt

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strings"

	"github.com/klauspost/compress/zstd"
	fast "github.com/segmentio/encoding/json"
)

// A reader is called with a record in raw, one JSON value of a file, and reports whether it is JSON.
type reader func(*Stream) bool

// mostBrackets is less than the depth that encoding/json bounds. The faster reader bounds none.
const mostBrackets = 10_000

var errNoJSON = errors.New("it is no JSON, or too deep")

// parse decodes JSON. What is raw in value shares its bytes.
func parse(raw []byte, value any) error {
	if bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > mostBrackets && !json.Valid(raw) {
		return errNoJSON
	}
	rest, err := fast.Parse(raw, value, fast.DontCopyRawMessage)
	if err == nil && len(rest) > 0 {
		err = errNoJSON
	}
	return err
}

// as returns a reader that calls read with each record, decoded. P is a pointer, so that the linker needs this once.
func as[P any](read func(P)) reader {
	return func(s *Stream) bool {
		value := reflect.New(reflect.TypeFor[P]().Elem()).Interface()
		isJSON, isRead := s.decode(s.raw, value)
		if isRead {
			read(value.(P))
		}
		return isJSON
	}
}

// decode reads JSON into value. Another shape counts as not understood.
func (s *Stream) decode(raw []byte, value any) (isJSON, isRead bool) {
	if parse(raw, value) == nil {
		return true, true
	}
	isJSON = json.Valid(raw)
	isRead = isJSON && json.Unmarshal(raw, value) == nil
	if isJSON && !isRead {
		s.notUnderstood("record of another shape")
	}
	return isJSON, isRead
}

// records calls read with each record of a file of the store that has one a line. It counts torn and endless lines.
func (s *Stream) records(name string, read reader) {
	s.unreadable(s.readFile(s.store, name, func(in *bufio.Reader) error { return s.recordsIn(in, read) }))
}

func (s *Stream) recordsIn(lines *bufio.Reader, read reader) error {
	for number := 1; !s.stops(); number++ {
		line, err := readLine(lines)
		if err != nil && err != io.EOF {
			return err
		}
		s.line = number
		line = bytes.TrimSpace(line)
		isShort := len(line) <= maxText
		if !isShort {
			s.notUnderstood(fmt.Sprintf("line over %d MB", maxText>>20))
		} else if len(line) > 0 && !s.record(line, read) {
			s.recordsOf(line, read)
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// readLine returns the next line, without the rest of one that is longer than maxText.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxText {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// recordsOf calls read with the records of a torn line, or of one where several were glued as a program was killed: one
// of them begins where the other stops being JSON, or, if that was within a text, behind its first quote.
func (s *Stream) recordsOf(line []byte, read reader) {
	beginning, _, _ := bytes.Cut(line, []byte(":"))
	for range 100 {
		decoder := json.NewDecoder(bytes.NewReader(line))
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if err == nil {
			s.record(raw, read)
			line = bytes.TrimSpace(line[decoder.InputOffset():])
		} else {
			s.notUnderstood("torn line")
			broken, isBroken := errors.AsType[*json.SyntaxError](err) // else it only lacks its end
			if !isBroken || len(beginning) < 2 {
				return
			}
			from := max(1, int(broken.Offset)-len(`{"x`))
			next := bytes.Index(line[from:], beginning)
			isNested := next >= len(`{"x`) && bytes.IndexByte([]byte(":[,"), line[from+next-1]) >= 0
			if next < 0 || isNested {
				return
			}
			line = line[from+next:]
		}
		if len(line) == 0 {
			return
		}
	}
}

func (s *Stream) record(raw []byte, read reader) bool {
	s.raw = raw
	isJSON := read(s)
	if isJSON {
		s.report.Records++
	}
	return isJSON
}

// inner calls read with JSON that a record has as a text.
func (s *Stream) inner(text []byte, read reader) {
	if s.raw = text; !read(s) {
		s.notUnderstood("JSON in a text that is torn")
	}
}

// decoded returns the bytes for a string in base64, perhaps behind "data:…;base64,", with the type that this tells.
func decoded(text string) (kind string, data []byte) {
	if head, body, found := strings.Cut(text, ";base64,"); found {
		kind, text = strings.TrimPrefix(head, "data:"), body
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		data = nil
	}
	return kind, data
}

// readFile calls read with a regular file, decompressed if it ends in .zst, without a mark of the byte order.
func (s *Stream) readFile(store fs.FS, name string, read func(*bufio.Reader) error) error {
	info, err := fs.Lstat(store, name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	file, err := store.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<16)
	if path.Ext(name) == ".zst" {
		plain, err := unzstd(file)
		if err != nil {
			return err
		}
		defer plain.Close()
		in.Reset(plain)
	}
	if start, err := in.Peek(3); err == nil && string(start) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	return read(in)
}

// unzstd returns a reader of what was compressed. It decompresses at most maxText bytes at once.
func unzstd(in io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxText))
}

// whole returns a regular file of at most maxText bytes.
func (s *Stream) whole(store fs.FS, name string) (data []byte, err error) {
	err = s.readFile(store, name, func(in *bufio.Reader) error {
		data, err = io.ReadAll(io.LimitReader(in, maxText+1))
		if err == nil && len(data) > maxText {
			err = fmt.Errorf("it is larger than %d MB", maxText>>20)
		}
		return err
	})
	return data, err
}

// besides returns the whole text of a result, which is in a file of dir if it has a place. That is a path on the machine
// that wrote it: only its last part counts.
func (s *Stream) besides(dir, place, text string) string {
	if place == "" {
		return text
	}
	whole, err := s.whole(s.store, path.Join(dir, baseOf(place)))
	if err != nil {
		s.notUnderstood("result in a file that is gone")
		return text
	}
	return string(whole)
}

func baseOf(place string) string { return path.Base(strings.ReplaceAll(place, `\`, "/")) }

// plainError returns an error without the path that the report names beside it.
func plainError(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return "cannot be read: " + err.Error()
}

// unreadable refuses a piece that cannot be read.
func (s *Stream) unreadable(err error) {
	if err != nil {
		s.refuse(plainError(err))
	}
}

// elements calls read with each element of a file that is one JSON array, or with its one object. It holds one element,
// of at most maxText bytes.
func (s *Stream) elements(name string, read reader) {
	s.unreadable(s.readFile(s.store, name, func(in *bufio.Reader) error {
		left := &io.LimitedReader{R: in, N: maxText}
		decoder := json.NewDecoder(left)
		if start, err := in.Peek(1); err == nil && start[0] == '[' {
			_, _ = decoder.Token()
		}
		for !s.stops() && decoder.More() {
			var raw json.RawMessage
			err := decoder.Decode(&raw)
			if left.N <= 0 {
				err = fmt.Errorf("an element is larger than %d MB", maxText>>20)
			}
			if err != nil {
				s.notUnderstood("torn array: " + plainError(err))
				return nil
			}
			left.N = maxText
			s.record(raw, read)
		}
		return nil
	}))
}

// rows calls read with the rows of a query over a SQLite file, whose columns are the record's fields.
func (s *Stream) rows(file, query string, read reader) {
	if s.options.Rows == nil {
		s.refuse("SQLite file: there is no reader of it here")
	}
	if s.stops() {
		return
	}
	rows, err := s.options.Rows(s.ctx, file, query)
	if err == nil {
		err = errors.Join(s.recordsIn(bufio.NewReaderSize(rows, 1<<16), read), rows.Close())
	}
	s.unreadable(err)
}

// header is what begins a session, in the words of Hermes or opencode.
type header struct {
	ID, Title      string
	Source         string // of Hermes
	CWD, Directory string
	ParentSession  string `json:"parent_session_id"`
	Parent         string `json:"parent_id"`
	ParentID       string // in a file of opencode
	Started        moment `json:"started_at"`
	Created        moment `json:"time_created"`
	Time           struct{ Created moment }
	Messages       []json.RawMessage // in an export of Hermes
}

func (h *header) session() Session {
	forked := cmp.Or(h.Parent, h.ParentID)
	return Session{
		ID: h.ID, Title: h.Title, Dir: cmp.Or(h.CWD, h.Directory), Parent: cmp.Or(h.ParentSession, forked),
		Side: h.Source == "subagent" || forked != "", Began: cmp.Or(h.Started, h.Created, h.Time.Created).Time,
	}
}

// sessionRows reads the rows of a SQLite file by a session_id, and opens each one's session, of which a row of the
// other query tells more.
func (s *Stream) sessionRows(file, sessions, messages string, read reader) {
	known := map[string]*header{}
	s.rows(file, sessions, as(func(h *header) { known[h.ID] = h }))
	s.rows(file, messages, as(func(row *struct {
		ID string `json:"session_id"`
	}) {
		if row.ID != s.session.ID {
			session := header{ID: row.ID}
			if told := known[row.ID]; told != nil {
				session = *told
			}
			s.open(session.session())
		}
		read(s)
	}))
}
