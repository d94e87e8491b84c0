// Package document takes the text out of PDF, Word, Excel, PowerPoint and OpenDocument files, for readers of plain text.
//
//	if document.Is(head) {
//		text, err := document.Text(ctx, whole)
//	}
//
// A line in brackets stands before each part: [page 3 of 12], [sheet Costs], [slide 2], [comments]. The rest is the text of
// the document: a paragraph a line, and a row of a table a line with tabs between its cells. A formula without a stored
// value stands for itself, and hidden sheets and slides are marked so.
//
// Files come from strangers, so they are parsed in a worker, which has no files, no network, and bounded memory and
// time. What a file unpacks to is bounded, too.
package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"lethe/internal/pattern"
	"lethe/internal/worker"
)

// MaxFile bounds a document, in bytes.
const MaxFile = 64 << 20

const (
	maxUnpacked = 64 << 20 // bytes of all parts that are read of a file
	maxText     = 8 << 20  // bytes of its text
)

func init() { worker.Register("document", extract) }

var begins = pattern.Lazy(`^(?:%PDF-|PK\x03\x04(?s:.*)(?:\[Content_Types\]\.xml|_rels/|word/|xl/|ppt/|` +
	`mimetypeapplication/vnd\.oasis\.opendocument\.))`)

// ole begins files of Office before 2007, and encrypted ones of today.
const ole = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// Is reports whether a file that begins with head, 8 KiB of it, may be a document.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(ole)) || begins().Match(head) }

// Text returns the text of a document: valid UTF-8, at most 8 MiB, without control characters but newlines and tabs.
// An error tells the fault of the file: it is damaged, encrypted, too large, or without text.
func Text(ctx context.Context, file []byte) ([]byte, error) {
	return worker.Run(ctx, "document", file)
}

// errFull ends an extraction early: the text has reached its bound.
var errFull = errors.New("no more text is taken")

// extract runs in the worker.
func extract(in io.Reader, out io.Writer) error {
	file, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var text text
	switch {
	case bytes.HasPrefix(file, []byte(ole)):
		err = oldOffice(file)
	case bytes.HasPrefix(file, []byte("PK")):
		err = text.office(file)
	default:
		err = text.pdf(file)
	}
	switch {
	case errors.Is(err, errFull):
		text.WriteString("\n[the text goes on: only its first 8 MB are shown]\n")
	case err != nil:
		return err
	case !text.says:
		return errors.New("there is no text in it: its pages may be pictures, as a scanner makes them")
	}
	_, err = out.Write(text.Bytes())
	return err
}

// oldOffice says why a file of OLE is not read.
func oldOffice(file []byte) error {
	encrypted := bytes.Contains(file, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"))
	if encrypted {
		return errors.New("it is encrypted: ask for a copy without a password")
	}
	return errors.New("it is a file of Office before 2007: ask for a copy as .docx, .xlsx or .pptx")
}

// text gathers the text of a document.
type text struct {
	bytes.Buffer
	says bool // something beside the marks
}

// mark begins a part of the document.
func (t *text) mark(format string, args ...any) { fmt.Fprintf(t, "["+format+"]\n", args...) }

// add appends text of the document without characters that could harm a reader.
func (t *text) add(s string) error {
	if t.Len()+len(s) > maxText {
		return errFull
	}
	t.says = t.says || strings.TrimSpace(s) != ""
	t.WriteString(clean(s))
	return nil
}

const softHyphen = '\u00ad'

// clean leaves out control characters, places where a word may be cut, and what is no UTF-8, and spells ligatures out,
// as people search for the words.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || r == softHyphen || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	for i, spelt := range ligatures {
		s = strings.ReplaceAll(s, string(rune('ﬀ'+i)), spelt)
	}
	return s
}

// ligatures are the letters of U+FB00 to U+FB06. They stand in PDF files as a font has them, in those of Chromium 156 for
// one.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}
