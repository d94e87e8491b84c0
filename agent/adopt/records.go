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
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	fast "github.com/segmentio/encoding/json"
)

// A record is one JSON value of a file.
type record struct {
	*Stream
	raw    []byte
	lifted [][]byte // what stood in raw as long base64, by the number of its mark
	valid  bool     // encoding/json has read raw, and found it not too deep for a faster reader
}

// as returns a reader of records that calls read with each one, decoded.
func as[T any](read func(*record, *T)) func(*record) {
	return func(r *record) {
		value := new(T)
		isRead := r.valid && fast.Unmarshal(r.raw, value) == nil
		if isRead || r.decode(r.raw, value) {
			read(r, value)
		}
	}
}

// decode reads JSON of the record into value. Another shape counts as not understood.
func (r *record) decode(raw []byte, value any) bool {
	err := json.Unmarshal(raw, value)
	if at, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := "record of type " + at.Value
		if at.Field != "" {
			kind = fmt.Sprintf("record whose %s is of type %s", at.Field, at.Value)
		}
		r.notUnderstood(kind)
	} else if err != nil {
		r.notUnderstood("record of another shape")
	}
	return err == nil
}

// records calls read with each record of a file of the store that has one a line. It counts torn and endless lines.
func (s *Stream) records(name string, read func(*record)) {
	s.unreadable(s.readFile(s.store, name, func(in *bufio.Reader) error { return s.recordsIn(in, read) }))
}

func (s *Stream) recordsIn(lines *bufio.Reader, read func(*record)) error {
	var buffer []byte
	for number := 1; !s.stops(); number++ {
		line, err := readLine(lines, buffer[:0])
		if err != nil && err != io.EOF {
			return err
		}
		if buffer = line; cap(buffer) > 1<<20 {
			buffer = nil
		}
		s.line = number
		line = bytes.TrimSpace(line)
		switch {
		case len(line) > maxText:
			s.notUnderstood(fmt.Sprintf("line over %d MB", maxText>>20))
		case json.Valid(line):
			s.report.Records++
			r := s.newRecord(line)
			r.valid = true
			read(r)
		case len(line) > 0:
			s.recordsOf(line, read)
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// readLine appends the next line to buffer, and passes over the rest of one that is longer than maxText.
func readLine(in *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(buffer) <= maxText {
			buffer = append(buffer, part...)
		}
		if err != bufio.ErrBufferFull {
			return buffer, err
		}
	}
}

// recordsOf calls read with the records of a torn line, or of one where several were glued as a program was killed: one
// of them begins where the other stops being JSON, or, if that was within a text, behind its first quote.
func (s *Stream) recordsOf(line []byte, read func(*record)) {
	beginning, _, _ := bytes.Cut(line, []byte(":"))
	for range 100 {
		decoder := json.NewDecoder(bytes.NewReader(line))
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if err == nil {
			s.report.Glued++
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

func (s *Stream) record(raw []byte, read func(*record)) {
	s.report.Records++
	read(s.newRecord(raw))
}

// newRecord returns the record for a JSON value, which it overwrites.
func (s *Stream) newRecord(raw []byte) *record {
	raw, lifted := lift(raw)
	return &record{s, raw, lifted, false}
}

// leastLifted is the length of base64 from which on it is lifted, in characters.
const leastLifted = 4096

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

func mark(n int) string { return "\ue000" + strconv.Itoa(n) + "\ue000" }

// lift replaces, in place, each string of long base64, perhaps behind "data:…;base64,", by a mark, and returns the
// bytes that it stood for. So a picture is never held as text.
func lift(line []byte) (rest []byte, lifted [][]byte) {
	if len(line) < leastLifted {
		return line, nil
	}
	rest = line[:0]
	for text := range bytes.SplitAfterSeq(line, []byte{'"'}) {
		start := 0
		if comma := bytes.Index(text[:min(len(text), 100)], []byte(";base64,")); comma >= 0 {
			start = comma + len(";base64,")
		}
		coded := bytes.TrimSuffix(text[start:], []byte{'"'})
		isCoded := len(coded) >= leastLifted && len(bytes.TrimLeft(coded, base64Digits)) == 0
		data, err := []byte(nil), error(nil)
		if isCoded {
			data, err = base64.StdEncoding.Strict().AppendDecode(nil, coded)
		}
		if !isCoded || err != nil {
			rest = append(rest, text...)
			continue
		}
		rest = append(append(rest, text[:start]...), mark(len(lifted))+`"`...)
		lifted = append(lifted, data)
	}
	return rest, lifted
}

// text puts back what was lifted from a string that is no picture.
func (r *record) text(text string) string {
	for n, data := range r.lifted {
		if strings.Contains(text, mark(n)) {
			text = strings.ReplaceAll(text, mark(n), base64.StdEncoding.EncodeToString(data))
		}
	}
	return text
}

// bytes returns the bytes for a string in base64, lifted or not, perhaps behind "data:…;base64,", with the type that
// this tells.
func (r *record) bytes(text string) (kind string, data []byte) {
	if head, body, found := strings.Cut(text, ";base64,"); found {
		kind, text = strings.TrimPrefix(head, "data:"), body
	}
	for n, data := range r.lifted {
		if text == mark(n) {
			return kind, data
		}
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return kind, nil
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
func (s *Stream) elements(name string, read func(*record)) {
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
func (s *Stream) rows(file, query string, read func(*record)) {
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
func (s *Stream) sessionRows(file, sessions, messages string, read func(*record)) {
	known := map[string]*header{}
	s.rows(file, sessions, as(func(_ *record, h *header) { known[h.ID] = h }))
	s.rows(file, messages, as(func(r *record, row *struct {
		ID string `json:"session_id"`
	}) {
		if row.ID != s.session.ID {
			session := header{ID: row.ID}
			if told := known[row.ID]; told != nil {
				session = *told
			}
			s.open(session.session())
		}
		read(r)
	}))
}
