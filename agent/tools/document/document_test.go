package document

import (
	"archive/zip"
	"bytes"
	"os"
	"strings"
	"testing"

	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	m.Run()
}

// office makes an office file of parts given as pairs.
func office(tb testing.TB, parts ...string) []byte {
	tb.Helper()
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for i := 0; i < len(parts); i += 2 {
		part, err := archive.Create(parts[i])
		lethetest.Must(tb, err)
		_, err = part.Write([]byte(parts[i+1]))
		lethetest.Must(tb, err)
	}
	lethetest.Must(tb, archive.Close())
	return file.Bytes()
}

func word(tb testing.TB, body string) []byte {
	return office(tb, "[Content_Types].xml", "<Types/>", "word/document.xml",
		`<?xml version="1.0"?><w:document xmlns:w="urn:w"><w:body>`+body+`</w:body></w:document>`,
		"word/footnotes.xml", `<w:footnotes><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnotes>`)
}

const paragraph = `<w:p><w:r><w:t>Costs &amp; </w:t></w:r><w:r><w:tab/><w:t xml:space="preserve">reasons </w:t></w:r>` +
	`<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:instrText>PAGE</w:instrText></w:p>`

func cellOf(text string) string { return "<w:tc><w:p><w:t>" + text + "</w:t></w:p></w:tc>" }

func excel(tb testing.TB) []byte {
	return office(tb, "[Content_Types].xml", "<Types/>",
		"xl/workbook.xml", `<workbook xmlns:r="urn:r"><workbookPr/><sheets><sheet name="Costs" sheetId="7" r:id="rId2"/>`+
			`<sheet name="Other ] [sheet Costs" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Target="/xl/worksheets/b.xml"/>`+
			`<Relationship Id="rId2" Target="worksheets/a.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst><si><t>Item</t></si><si><r><t>Ser</t></r><r><t>vers</t></r><rPh><t>no</t></rPh></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[Red]0.00&quot; days&quot;"/>`+
			`<numFmt numFmtId="165" formatCode="dd.mm.yyyy"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>`+
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
		"xl/worksheets/a.xml", `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>two
lines</t></is></c></row><row r="3"><c r="B3" t="s"><v>1</v></c><c r="C3" s="1"><v>900.5</v></c><c s="2"><v>45292</v></c>`+
			`<c s="3"><v>45292.75</v></c><c t="b"><v>1</v></c><c t="str"><f>A1</f><v>12</v></c></row></sheetData></worksheet>`,
		"xl/worksheets/b.xml", `<worksheet><sheetData><row><c r="ZZZZZZ1"><v>5</v></c></row></sheetData></worksheet>`)
}

func TestText(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	t.Parallel()
	report, err := os.ReadFile("testdata/report.pdf")
	lethetest.Must(t, err)
	slide := `<p:sld><a:p><a:r><a:t>Plan</a:t></a:r></a:p></p:sld>`
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"pdf": {report, "[page 1 of 2]\nQuarterly report\nThe costs of the first quarter were 1,234.50 € in total, " +
			"which is more than was planned; the reasons are given\nbelow in a table.\nItem\tCost\nServers 900\n" +
			"[page 2 of 2]\nSecond page: conclusions and “quotes”, Köln.\n"},
		"word": {word(t, paragraph+"<w:tbl><w:tr>"+cellOf("Item")+cellOf("Cost")+"</w:tr></w:tbl>"),
			"Costs & \treasons \nItem \tCost \t\n[footnotes]\na note\n"},
		"excel": {excel(t), "[sheet Costs]\nItem\t\ttwo lines\n\tServers\t900.5\t2024-01-01\t2024-01-01 18:00:00\tTRUE\t12\n" +
			"[sheet Other ] [sheet Costs]\n5\n"},
		"slides": {office(t, "ppt/slides/slide1.xml", slide, "ppt/slides/slide2.xml", slide),
			"[slide 1]\nPlan\n[slide 2]\nPlan\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Text(t.Context(), c.file); err != nil || string(got) != c.want || !Is(c.file) {
				t.Errorf("Is: %v; Text gives %v\n%s\nwant\n%s", Is(c.file), err, got, c.want)
			}
		})
	}
}

// A hostile, damaged or empty file costs a clear error.
func TestRefused(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	t.Parallel()
	report, err := os.ReadFile("testdata/report.pdf")
	lethetest.Must(t, err)
	bomb := word(t, strings.Repeat(" ", maxUnpacked))
	entities := `<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` + paragraph + `<w:t>&b;</w:t>`
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"cut":       {report[:len(report)/2], "damaged"},
		"no pdf":    {[]byte("%PDF-1.7\nnothing"), "damaged"},
		"scan":      {[]byte(strings.ReplaceAll(string(word(t, "")), "footnotes", "footnotez")), "pictures"},
		"bomb":      {bomb, " MB"}, // of text, or on a busy machine of memory
		"entities":  {word(t, entities), "damaged"},
		"cut zip":   {word(t, paragraph)[:100], "damaged"},
		"jar":       {office(t, "META-INF/_rels/x", "y"), "no Word"},
		"open tags": {word(t, "<w:p attr>"), "damaged"},
		"nesting":   {office(t, "xl/workbook.xml", strings.Repeat("<a>", 1<<20)), "damaged"},
		"encrypted": {encrypted(t, report), "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Text(t.Context(), c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
				t.Errorf("gives %v, want %s:\n%.200s", err, c.want, got)
			}
		})
	}
}

// encrypted is a PDF whose trailer names an encryption by a password that is not known.
func encrypted(t *testing.T, file []byte) []byte {
	t.Helper()
	key := strings.Repeat("x", 32)
	dict := "/ID [(a) (b)] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O (" + key + ") /U (" + key + ") >>"
	return bytes.Replace(file, []byte("/Root"), []byte(dict+" /Root"), 1)
}

// Text is cut at its bound, and says so.
func TestLong(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	t.Parallel()
	long := "<w:p><w:t>" + strings.Repeat("word ", 1000) + "</w:t></w:p>"
	got, err := Text(t.Context(), word(t, strings.Repeat(long, maxText/5000+1)))
	if err != nil || len(got) > maxText+100 || !bytes.HasSuffix(got, []byte("only its first 8 MB are shown]\n")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func FuzzExtract(f *testing.F) {
	report, err := os.ReadFile("testdata/report.pdf")
	lethetest.Must(f, err)
	f.Add(report)
	f.Add(word(f, paragraph))
	f.Add(excel(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		var out bytes.Buffer
		if err := extract(bytes.NewReader(file), &out); err == nil && out.String() != clean(out.String()) {
			t.Error("control characters")
		}
	})
}
