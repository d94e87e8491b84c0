package document

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"lethe/internal/pattern"
)

// workbook holds the parts of an Excel file that its sheets share.
type workbook struct {
	Sheets []struct {
		Name  string `xml:"name,attr"`
		ID    string `xml:"id,attr"` // of Parts
		State string `xml:"state,attr"`
	} `xml:"sheets>sheet"`
	Properties struct {
		From1904 string `xml:"date1904,attr"`
	} `xml:"workbookPr"`
	Parts []struct {
		ID     string `xml:"Id,attr"`
		Target string `xml:"Target,attr"`
	} `xml:"Relationship"`
	Strings []content `xml:"si"`
	Formats []struct {
		ID   int    `xml:"numFmtId,attr"`
		Code string `xml:"formatCode,attr"`
	} `xml:"numFmts>numFmt"`
	Styles []struct {
		Format int `xml:"numFmtId,attr"`
	} `xml:"cellXfs>xf"`
}

// content is the text of a cell, in one piece or several.
type content struct {
	Text  string   `xml:"t"`
	Parts []string `xml:"r>t"`
}

func (c content) String() string { return c.Text + strings.Join(c.Parts, "") }

type cell struct {
	At     string  `xml:"r,attr"` // like BC3
	Kind   string  `xml:"t,attr"`
	Style  int     `xml:"s,attr"`
	Value  string  `xml:"v"`
	Rule   string  `xml:"f"`
	Inline content `xml:"is"`
}

// sheets adds an Excel file, sheet by sheet in their order.
func (t *text) sheets(a *archive) error {
	var b workbook
	if err := a.parse("xl/workbook.xml", &b); err != nil {
		return err
	}
	for _, part := range []string{"_rels/workbook.xml.rels", "sharedStrings.xml", "styles.xml"} {
		if err := a.parse("xl/"+part, &b); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, s := range b.Sheets {
		hidden := ""
		if s.State == "hidden" || s.State == "veryHidden" {
			hidden = ", hidden"
		}
		t.mark("sheet %s%s", strings.Join(strings.Fields(clean(s.Name)), " "), hidden)
		for _, p := range b.Parts {
			if p.ID != s.ID {
				continue
			}
			name := path.Join("/xl", p.Target)
			if path.IsAbs(p.Target) {
				name = p.Target
			}
			if err := t.rows(a, name[1:], &b); err != nil {
				return err
			}
		}
	}
	return t.remarks(a)
}

// remarks adds the comments on cells of all sheets.
func (t *text) remarks(a *archive) error {
	for _, name := range a.named("xl/comments*.xml") {
		var comments struct {
			All []struct {
				At   string  `xml:"ref,attr"`
				Text content `xml:"text"`
			} `xml:"commentList>comment"`
		}
		if err := a.parse(name, &comments); err != nil {
			return err
		}
		t.mark("comments")
		for _, c := range comments.All {
			if err := t.add(c.At + "\t" + strings.Join(strings.Fields(c.Text.String()), " ") + "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows adds a sheet: a line for each row that has cells, which stand in their columns.
func (t *text) rows(a *archive, name string, b *workbook) error {
	var sheet struct {
		Rows []struct {
			Cells []cell `xml:"c"`
		} `xml:"sheetData>row"`
	}
	err := a.parse(name, &sheet)
	for _, row := range sheet.Rows {
		column := 0
		for i, c := range row.Cells {
			at := max(c.column(), column+min(i, 1))
			if err := t.add(strings.Repeat("\t", at-column) + b.shown(c)); err != nil {
				return err
			}
			column = at
		}
		if err := t.add("\n"); err != nil {
			return err
		}
	}
	return err
}

// column returns the column of a cell, from 0. It returns 0, too, if the cell names no column, or one beyond the last.
func (c cell) column() int {
	column := 0
	for _, letter := range c.At {
		isLetter := letter >= 'A' && letter <= 'Z'
		if !isLetter || column > 16384 {
			break
		}
		column = column*26 + int(letter-'A') + 1
	}
	if column > 16384 {
		return 0
	}
	return max(column-1, 0)
}

// dateFormat has a letter of days or times outside of quotes and brackets.
var dateFormat = pattern.Lazy(`(?i)^(?:"[^"]*"|\[[^\]]*\]|\\.|[^ymdhs"\[\\])*[ymdhs]`)

// shown renders a cell in one line: its text, TRUE or FALSE, a day and time, or the number as it is stored. A formula
// without a value is shown itself.
func (b *workbook) shown(c cell) string {
	text := c.Value + c.Inline.String()
	if text == "" && c.Rule != "" {
		text = "=" + c.Rule
	}
	number, err := strconv.ParseFloat(c.Value, 64)
	index := int(number)
	switch {
	case err != nil:
	case c.Kind == "s" && index >= 0 && index < len(b.Strings):
		text = b.Strings[index].String()
	case c.Kind == "b":
		text = strings.ToUpper(strconv.FormatBool(number != 0))
	case c.Kind != "str" && c.Style > 0 && c.Style < len(b.Styles) && b.isDate(b.Styles[c.Style].Format):
		text = b.date(number)
	}
	return strings.Join(strings.Fields(text), " ")
}

// isDate reports whether a format shows numbers as days and times.
func (b *workbook) isDate(format int) bool {
	for _, f := range b.Formats {
		if f.ID == format {
			return dateFormat().MatchString(f.Code)
		}
	}
	isDay := format >= 14 && format <= 22
	isTime := format >= 45 && format <= 47
	return isDay || isTime
}

// date is the day and time that a number of days means.
func (b *workbook) date(days float64) string {
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if b.Properties.From1904 == "1" || b.Properties.From1904 == "true" {
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	whole, part := math.Modf(days)
	at := epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*86400)) * time.Second)
	if part == 0 {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime)
}
