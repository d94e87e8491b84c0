package document

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lethe/internal/pattern"
)

// openDocument adds an OpenDocument file: a text, a spreadsheet or a presentation.
func (t *text) openDocument(a *archive) error {
	const name = "content.xml"
	part, err := a.unpack(name)
	if err != nil {
		return err
	}
	tokens := xml.NewDecoder(bytes.NewReader(part))
	o := openText{text: t}
	for {
		token, err := tokens.RawToken()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = o.take(token)
		}
		switch {
		case err == errFull:
			return err
		case err != nil:
			return fmt.Errorf("%s is damaged: %w", name, err)
		}
	}
}

// openText is the text of an OpenDocument file while its elements come.
type openText struct {
	*text
	paragraphs, cells, skipped int // within how many of these
	slides                     int
}

// blanks are white space that stands for one space.
var blanks = pattern.Lazy(`[ \t\r\n]+`)

// take adds the text of one token.
func (o *openText) take(token xml.Token) error {
	const deleted = "tracked-changes"
	switch e := token.(type) {
	case xml.StartElement:
		if e.Name.Local == deleted {
			o.skipped++
		}
		if o.skipped == 0 {
			return o.begin(e)
		}
	case xml.EndElement:
		if o.skipped == 0 {
			return o.end(e.Name.Local)
		}
		if e.Name.Local == deleted {
			o.skipped--
		}
	case xml.CharData:
		if o.paragraphs > 0 && o.skipped == 0 {
			return o.add(blanks().ReplaceAllString(string(e), " "))
		}
	}
	return nil
}

func (o *openText) begin(e xml.StartElement) error {
	attribute := func(name string) string {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	switch e.Name.Local {
	case "p", "h":
		o.paragraphs++
	case "table-cell":
		o.cells++
	case "tab":
		return o.add("\t")
	case "line-break":
		return o.add("\n")
	case "s":
		n, err := strconv.Atoi(attribute("c"))
		if err != nil {
			n = 1
		}
		return o.add(strings.Repeat(" ", min(max(n, 0), 100)))
	case "table":
		o.mark("table %s", strings.Join(strings.Fields(clean(attribute("name"))), " "))
	case "page":
		o.slides++
		o.mark("slide %d", o.slides)
	case "annotation":
		return o.add(" [comment: ")
	}
	return nil
}

func (o *openText) end(name string) error {
	switch name {
	case "annotation":
		return o.add("] ")
	case "table-row":
		return o.add("\n")
	case "table-cell":
		o.cells--
		return o.add("\t")
	case "p", "h":
		o.paragraphs--
		if o.cells > 0 || o.paragraphs > 0 { // in a table, or a note within a paragraph
			return o.add(" ")
		}
		return o.add("\n")
	}
	return nil
}
