package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
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
	for _, try := range []func(*archive) error{t.word, t.sheets, t.slides, t.openDocument} {
		if err := try(a); !errors.Is(err, fs.ErrNotExist) || t.Len() > 0 {
			return err
		}
	}
	return errors.New("it is a zip archive, and no Word, Excel, PowerPoint or OpenDocument file")
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

// named returns the names of parts that match a pattern of package path, in their order.
func (a *archive) named(pattern string) (names []string) {
	for _, file := range a.File {
		if is, _ := path.Match(pattern, file.Name); is { // the patterns here are good
			names = append(names, file.Name)
		}
	}
	slices.Sort(names)
	return names
}

// word adds a Word document: its text, then its notes, comments, headers and footers, each text of these once.
func (t *text) word(a *archive) error {
	part, err := a.unpack("word/document.xml")
	if err != nil {
		return err
	}
	if err := t.prose("word/document.xml", part); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, kind := range []string{"footnotes", "endnotes", "comments", "header", "footer"} {
		for _, name := range a.named("word/" + kind + "*.xml") {
			part, err := a.unpack(name)
			if err != nil {
				return err
			}
			var beside text
			if err := beside.prose(name, part); err != nil {
				return err
			}
			if said := beside.String(); beside.says && !seen[said] {
				seen[said] = true
				t.mark("%s", kind)
				if err := t.add(said); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// related are the parts that a part refers to.
type related struct {
	Parts []struct {
		ID     string `xml:"Id,attr"`
		Type   string `xml:"Type,attr"`
		Target string `xml:"Target,attr"`
	} `xml:"Relationship"`
}

// related reads the parts that a part refers to; none, if it refers to none.
func (a *archive) related(name string) (r related, err error) {
	dir, base := path.Split(name)
	err = a.parse(dir+"_rels/"+base+".rels", &r)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for i, part := range r.Parts {
		r.Parts[i].Target = strings.TrimPrefix(part.Target, "/")
		if !path.IsAbs(part.Target) {
			r.Parts[i].Target = path.Join(dir, part.Target)
		}
	}
	return r, err
}

// slides adds a presentation, slide by slide in their order, each with its notes.
func (t *text) slides(a *archive) error {
	const main = "ppt/presentation.xml"
	var presentation struct {
		Slides []struct {
			IDs []xml.Attr `xml:",any,attr"`
		} `xml:"sldIdLst>sldId"`
	}
	if err := a.parse(main, &presentation); err != nil {
		return err
	}
	parts, err := a.related(main)
	if err != nil {
		return err
	}
	for i, slide := range presentation.Slides {
		for _, part := range parts.Parts {
			refers := func(attr xml.Attr) bool { return attr.Name.Space != "" && attr.Value == part.ID }
			if !slices.ContainsFunc(slide.IDs, refers) {
				continue
			}
			if err := t.slide(a, i+1, part.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

// slide adds one slide with its notes.
func (t *text) slide(a *archive, number int, name string) error {
	part, err := a.unpack(name)
	if err != nil {
		return err
	}
	var root struct {
		Show string `xml:"show,attr"`
	}
	if err := xml.Unmarshal(part, &root); err != nil {
		return fmt.Errorf("%s is damaged: %w", name, err)
	}
	hidden := ""
	if root.Show == "0" || root.Show == "false" {
		hidden = ", hidden"
	}
	t.mark("slide %d%s", number, hidden)
	if err := t.prose(name, part); err != nil {
		return err
	}
	beside, err := a.related(name)
	if err != nil {
		return err
	}
	for _, notes := range beside.Parts {
		if !strings.HasSuffix(notes.Type, "/notesSlide") {
			continue
		}
		part, err := a.unpack(notes.Target)
		if err != nil {
			return err
		}
		t.mark("notes of slide %d", number)
		if err := t.prose(notes.Target, part); err != nil {
			return err
		}
	}
	return nil
}

// twice are elements whose text stands elsewhere, too: what older programs show in the place of a text box, and the
// place from which text was moved.
var twice = map[string]bool{"Fallback": true, "moveFrom": true}

// prose adds a part of paragraphs and tables. Word and PowerPoint call them the same.
func (t *text) prose(name string, part []byte) error {
	starts := map[string]string{"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
	ends := map[string]string{"p": "\n", "tc": "\t", "tr": "\n"}
	tokens := xml.NewDecoder(bytes.NewReader(part))
	quoted, cells, skipped := false, 0, 0
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
			if twice[e.Name.Local] {
				skipped++
			}
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
			if twice[e.Name.Local] {
				skipped--
			}
			quoted = false
			add = ends[e.Name.Local]
			if e.Name.Local == "tc" {
				cells--
			} else if e.Name.Local == "p" && cells > 0 {
				add = " "
			}
		}
		if skipped > 0 {
			continue
		}
		if err := t.add(add); err != nil {
			return err
		}
	}
}
