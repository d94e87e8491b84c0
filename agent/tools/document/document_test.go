package document

import (
	"archive/zip"
	"bytes"
	"fmt"
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
		header := &zip.FileHeader{Name: parts[i], Method: zip.Deflate}
		if parts[i] == "mimetype" {
			header.Method = zip.Store
		}
		part, err := archive.CreateHeader(header)
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

// formed is a PDF whose page draws a form, which has resources of its own, and has a field.
func formed() []byte {
	stream := func(dict, text string) string {
		return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", dict, len(text), text)
	}
	const fonts = "/Font<</F 6 0 R>>"
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<" + fonts + "/XObject<</X 5 0 R>>>>" +
			"/Annots[<</Subtype/Widget/Rect[50 400 90 420]/AP<</N 8 0 R>>>><</AP<</N 9 0 R>>>>]>>",
		stream("", "BT /F 10 Tf 50 700 Td (before) Tj ET q 1 0 0 1 0 -100 cm /X Do Q BT /F 10 Tf 50 500 Td (behind) Tj ET"),
		stream("/Type/XObject/Subtype/Form/Matrix[1 0 0 1 0 -20]/Resources<<"+fonts+"/XObject<</Y 7 0 R>>>>",
			"BT /F 10 Tf 50 700 Td (in the form) Tj ET /Y Do"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>", stream("/Subtype/Image", "x"),
		stream("/Subtype/Form/Resources<<"+fonts+">>", "BT /F 10 Tf 2 2 Td (filled in) Tj ET"),
		stream("/Subtype/Form/Resources<<"+fonts+">>", "BT /F 10 Tf 2 2 Td (and here) Tj ET"),
	}
	var file bytes.Buffer
	file.WriteString("%PDF-1.4\n")
	var places []int
	for i, object := range objects {
		places = append(places, file.Len())
		fmt.Fprintf(&file, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := file.Len()
	fmt.Fprintf(&file, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, place := range places {
		fmt.Fprintf(&file, "%010d 00000 n \n", place)
	}
	fmt.Fprintf(&file, "trailer\n<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return file.Bytes()
}

func TestText(t *testing.T) {
	lethetest.Unraced(t) // the detector takes more memory than a worker has
	t.Parallel()
	report, err := os.ReadFile("testdata/report.pdf")
	lethetest.Must(t, err)
	slide := func(attribute, text string) string {
		return "<p:sld " + attribute + "><a:p><a:r><a:t>" + text + "</a:t></a:r></a:p></p:sld>"
	}
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
		"slides in their order": {office(t, "ppt/slides/slide1.xml", slide("", "Plan"), "ppt/slides/slide3.xml", slide(`show="0"`, "More"),
			"ppt/slides/slide7.xml", slide("", "removed"), "ppt/notesSlides/notesSlide1.xml", slide("", "say hello"),
			"ppt/slides/_rels/slide1.xml.rels", `<Relationships><Relationship Id="r" Type="x/notesSlide" `+
				`Target="../notesSlides/notesSlide1.xml"/></Relationships>`,
			"ppt/presentation.xml", `<p:presentation xmlns:p="urn:p" xmlns:r="urn:r"><p:sldIdLst><p:sldId id="256" r:id="rId3"/>`+
				`<p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="rId1" Type="x/slide" Target="slides/slide1.xml"/>`+
				`<Relationship Id="rId3" Type="x/slide" Target="/ppt/slides/slide3.xml"/></Relationships>`),
			"[slide 1, hidden]\nMore\n[slide 2]\nPlan\n[notes of slide 2]\nsay hello\n"},
		"text boxes and moved text once": {word(t, `<w:p><mc:Choice><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t>`+
			`</mc:Fallback></w:p><w:p><w:moveFrom><w:t>moved</w:t></w:moveFrom><w:moveTo><w:t>moved</w:t></w:moveTo></w:p>`+
			`<w:p><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t></w:p>`), "box\nmoved\ne-mail\n[footnotes]\na note\n"},
		"what stands beside a text": {office(t, "word/document.xml", `<w:p><w:t>text</w:t></w:p>`, "word/header2.xml",
			`<w:p><w:t>Draft</w:t></w:p>`,
			"word/header1.xml", `<w:p><w:t>Draft</w:t></w:p>`, "word/comments.xml", `<w:comment><w:p><w:t>really?</w:t></w:p></w:comment>`),
			"text\n[comments]\nreally?\n[header]\nDraft\n"},
		"formulas, remarks, hidden sheets": {office(t, "xl/workbook.xml", `<workbook xmlns:r="urn:r"><sheets>`+
			`<sheet name="S" state="hidden" r:id="r"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r" Target="worksheets/a.xml"/></Relationships>`,
			"xl/worksheets/a.xml", `<worksheet><sheetData><row><c r="A1"><v>2</v></c><c r="B1"><f>A1*3</f></c></row></sheetData></worksheet>`,
			"xl/comments1.xml", `<comments><commentList><comment ref="B1"><text><r><t>a guess</t></r></text></comment></commentList></comments>`),
			"[sheet S, hidden]\n2\t=A1*3\n[comments]\nB1\ta guess\n"},
		"an open document": {office(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", `<o:c><text:tracked-changes>`+
			`<text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h><text:p>One<text:s text:c="2"/>two<text:s text:c="-3"/>
			<text:span>three</text:span><office:annotation><text:p>why?</text:p></office:annotation></text:p>`+
			`<table:table table:name="T"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell>`+
			`<text:p>b</text:p></table:table-cell></table:table-row></table:table></o:c>`),
			"Head\nOne  two three [comment: why? ] \n[table T]\na \tb \t\n"},
		"ligatures and soft hyphens": {office(t, "word/document.xml", "<w:p><w:t>e\ufb03cient \ufb01rst o\ufb00er docu\u00adment</w:t></w:p>"),
			"efficient first offer document\n"},
		"a form on a page": {formed(), "[page 1 of 1]\nbefore\nin the form\nbehind\nfilled in\nand here\n"},
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
