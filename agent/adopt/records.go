package adopt

import (
	"bufio"
	"bytes"
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
)

// A record is one JSON value of a file.
type record struct {
	*Stream
	raw    []byte
	lifted [][]byte // what stood in raw as long base64, by the number of its mark
}

// decode reads the record into value. A record of another shape counts as not understood.
func (r *record) decode(value any) bool {
	if err := json.Unmarshal(r.raw, value); err != nil {
		at := new(json.UnmarshalTypeError)
		if errors.As(err, &at) {
			r.notUnderstood(fmt.Sprintf("record whose %s is a %s", at.Field, at.Value))
		} else {
			r.notUnderstood("record of another shape")
		}
		return false
	}
	return true
}

// records calls read with each record of a file of the store that has one a line. It counts torn and endless lines.
func (s *Stream) records(name string, read func(*record) error) error {
	file, err := s.openFile(s.store, name)
	if err != nil {
		return err
	}
	defer file.Close()
	return s.recordsIn(file, read)
}

func (s *Stream) recordsIn(in io.Reader, read func(*record) error) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	var buffer []byte
	for s.line = 1; ; s.line++ {
		line, err := readLine(lines, buffer[:0])
		buffer = line
		if cap(buffer) > 1<<20 {
			buffer = nil
		}
		switch {
		case errors.Is(err, errTooLong):
			s.notUnderstood(fmt.Sprintf("line over %d MB", maxText>>20))
			continue
		case err != nil && err != io.EOF:
			return err
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		}
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); len(line) > 0 {
			if err := s.recordsOf(line, read); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

var errTooLong = errors.New("line too long")

// readLine appends the next line to buffer. It passes over the rest of one that is longer than maxText.
func readLine(in *bufio.Reader, buffer []byte) ([]byte, error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(buffer)+len(part) > maxText; !long {
			buffer = append(buffer, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long && (err == nil || err == io.EOF) {
			return buffer[:0], errTooLong
		}
		return buffer, err
	}
}

// recordsOf calls read with the records of a line: one, or several that were glued when a program was killed.
func (s *Stream) recordsOf(line []byte, read func(*record) error) error {
	if json.Valid(line) {
		return s.record(line, read)
	}
	name, _, _ := bytes.Cut(line, []byte(":"))
	for tries := 0; len(line) > 0 && tries < 100; tries++ {
		decoder := json.NewDecoder(bytes.NewReader(line))
		var raw json.RawMessage
		if decoder.Decode(&raw) == nil {
			line = bytes.TrimSpace(line[decoder.InputOffset():])
			if tries > 0 || len(line) > 0 {
				s.report.Glued++
			}
			if err := s.record(raw, read); err != nil {
				return err
			}
			continue
		}
		s.notUnderstood("torn line")
		next := -1
		if len(name) > 1 {
			next = bytes.Index(line[1:], name)
		}
		if next < 0 {
			return nil
		}
		line = line[1+next:]
	}
	return nil
}

func (s *Stream) record(line []byte, read func(*record) error) error {
	s.report.Records++
	raw, lifted := lift(line)
	return read(&record{Stream: s, raw: raw, lifted: lifted})
}

// leastLifted is the length of base64 from which on it is lifted, in characters.
const leastLifted = 4096

func mark(n int) string { return "\ue000" + strconv.Itoa(n) + "\ue000" }

// lift replaces each string of long base64, perhaps behind "data:…;base64,", by a mark, and returns the bytes that it
// stood for. So a picture is never held as text.
func lift(line []byte) (rest []byte, lifted [][]byte) {
	if len(line) < leastLifted {
		return line, nil
	}
	written := 0
	for from := 0; ; {
		quote := bytes.IndexByte(line[from:], '"')
		if quote < 0 {
			break
		}
		start := from + quote + 1
		if head := line[start:min(len(line), start+100)]; bytes.HasPrefix(head, []byte("data:")) {
			if comma := bytes.Index(head, []byte(";base64,")); comma > 0 {
				start += comma + len(";base64,")
			}
		}
		end := start
		for end < len(line) && isBase64(line[end]) {
			end++
		}
		from = end
		if end-start < leastLifted || end == len(line) || line[end] != '"' {
			continue
		}
		data := make([]byte, base64.StdEncoding.DecodedLen(end-start))
		n, err := base64.StdEncoding.Strict().Decode(data, line[start:end])
		if err != nil {
			continue
		}
		rest = append(append(rest, line[written:start]...), mark(len(lifted))...)
		written = end
		lifted = append(lifted, data[:n])
	}
	return append(rest, line[written:]...), lifted
}

func isBase64(c byte) bool {
	isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	isDigit := '0' <= c && c <= '9'
	return isLetter || isDigit || c == '+' || c == '/' || c == '='
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

// openFile opens a regular file, and decompresses one that ends in .zst.
func (s *Stream) openFile(store fs.FS, name string) (io.ReadCloser, error) {
	info, err := fs.Lstat(store, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	file, err := store.Open(name)
	if err != nil || path.Ext(name) != ".zst" {
		return file, err
	}
	plain, err := unzstd(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &zstFile{plain, file}, nil
}

type zstFile struct {
	*zstd.Decoder
	file io.Closer
}

func (f *zstFile) Close() error {
	f.Decoder.Close()
	return f.file.Close()
}

func unzstd(in io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(in,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20), zstd.WithDecoderLowmem(true))
}

// whole returns a regular file of at most maxText bytes.
func (s *Stream) whole(store fs.FS, name string) ([]byte, error) {
	file, err := s.openFile(store, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readBounded(file)
}

// readBounded reads at most maxText bytes.
func readBounded(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err == nil && len(data) > maxText {
		err = fmt.Errorf("it is larger than %d MB", maxText>>20)
	}
	return data, err
}
