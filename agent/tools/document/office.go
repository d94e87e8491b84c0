package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// archive is an office document, of which only so many bytes may be unpacked.
type archive struct {
	*zip.Reader
	left int64
}

// office adds the text of a Word, Excel or PowerPoint file.
func (t *text) office(file []byte) error {
	zipped, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return fmt.Errorf("it is damaged, or no document that can be read: %w", err)
	}
	a := &archive{zipped, maxUnpacked}
	for _, try := range []func(*archive) error{t.word, t.sheets, t.slides} {
		if err := try(a); !errors.Is(err, fs.ErrNotExist) || t.Len() > 0 {
			return err
		}
	}
	return errors.New("it is a zip archive, and no Word, Excel or PowerPoint document")
}

// unpack returns a part.
func (a *archive) unpack(name string) ([]byte, error) {
	file, err := a.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	part, err := io.ReadAll(io.LimitReader(file, a.left+1))
	a.left -= int64(len(part))
	if a.left < 0 {
		return nil, fmt.Errorf("it unpacks to more than %d MB", maxUnpacked>>20)
	}
	return part, err
}

// parse reads a part into a struct.
func (a *archive) parse(name string, into any) error {
	part, err := a.unpack(name)
	if err != nil {
		return err
	}
	if err := xml.Unmarshal(part, into); err != nil {
		return fmt.Errorf("%s is damaged: %w", name, err)
	}
	return nil
}

// word adds a Word document: its text, then its notes.
func (t *text) word(a *archive) error {
	for _, name := range []string{"document", "footnotes", "endnotes"} {
		part, err := a.unpack("word/" + name + ".xml")
		if name != "document" {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			t.mark("%s", name)
		}
		if err != nil {
			return err
		}
		if err := t.prose(name, part); err != nil {
			return err
		}
	}
	return nil
}

// slides adds a presentation.
func (t *text) slides(a *archive) error {
	for n := 1; ; n++ {
		name := fmt.Sprintf("ppt/slides/slide%d.xml", n)
		part, err := a.unpack(name)
		if errors.Is(err, fs.ErrNotExist) && n > 1 {
			return nil
		}
		if err != nil {
			return err
		}
		t.mark("slide %d", n)
		if err := t.prose(name, part); err != nil {
			return err
		}
	}
}

// prose adds a part of paragraphs and tables. Word and PowerPoint call them the same.
func (t *text) prose(name string, part []byte) error {
	starts := map[string]string{"tab": "\t", "br": "\n", "cr": "\n"}
	ends := map[string]string{"p": "\n", "tc": "\t", "tr": "\n"}
	tokens := xml.NewDecoder(bytes.NewReader(part))
	quoted, cells := false, 0
	for {
		token, err := tokens.RawToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s is damaged: %w", name, err)
		}
		add := ""
		switch e := token.(type) {
		case xml.StartElement:
			quoted = e.Name.Local == "t"
			add = starts[e.Name.Local]
			if e.Name.Local == "tc" {
				cells++
			}
		case xml.CharData:
			if quoted {
				add = string(e)
			}
		case xml.EndElement:
			quoted = false
			add = ends[e.Name.Local]
			if e.Name.Local == "tc" {
				cells--
			} else if e.Name.Local == "p" && cells > 0 {
				add = " "
			}
		}
		if err := t.add(add); err != nil {
			return err
		}
	}
}
