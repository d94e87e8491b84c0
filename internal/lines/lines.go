// Package lines reads a stream line by line, and passes on other bytes in their place:
//
//	in := lines.New(os.Stdin, 1<<20, func(line []byte) ([]byte, error) { return bytes.ToUpper(line), nil })
package lines

import (
	"bufio"
	"errors"
	"io"
)

// Reader passes on a function's bytes for each line. One goroutine may use it.
type Reader struct {
	from *bufio.Reader
	most int
	pass func(line []byte) ([]byte, error)
	rest []byte // to be read
	err  error  // behind rest
}

// New returns a Reader. It gives each line to pass, with its end, and the bytes behind the last end. Of a line above
// most bytes it gives somewhat more than most, and then the rest, as lines. An error of pass ends the reading behind
// its bytes. pass may keep line.
func New(from io.Reader, most int, pass func(line []byte) ([]byte, error)) *Reader {
	return &Reader{from: bufio.NewReader(from), most: most, pass: pass}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.next()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if n == 0 {
		return 0, r.err
	}
	return n, nil
}

// next reads a line.
func (r *Reader) next() {
	var line []byte
	for {
		piece, err := r.from.ReadSlice('\n')
		line = append(line, piece...)
		isCut := errors.Is(err, bufio.ErrBufferFull)
		if isCut && len(line) <= r.most {
			continue
		}
		if !isCut {
			r.err = err
		}
		if len(line) == 0 {
			return
		}
		if r.rest, err = r.pass(line); err != nil {
			r.err = err
		}
		return
	}
}

// Err returns why Read returns nothing more: io.EOF at the end, nil before it.
func (r *Reader) Err() error { return r.err }
