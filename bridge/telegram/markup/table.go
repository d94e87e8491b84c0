package markup

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const (
	maxColumns = 64 // of a table; a wider one stays text
	maxWidth   = 40 // columns of the screen to which a cell is padded
)

// tables finds tables in paragraphs: a line with bars, a line such as |---|:-:|, and the lines
// with bars that follow. Unlike GitHub's rule it keeps surplus cells, and ends at a line
// without a bar.
type tables struct{}

func (tables) Transform(node *ast.Paragraph, r text.Reader, _ parser.Context) {
	source := r.Source()
	lines := node.Lines().Sliced(0, node.Lines().Len())
	for i := 1; i < len(lines); i++ {
		aligns := alignments(lines[i].Value(source))
		if aligns == nil || len(cells(lines[i-1], source)) != len(aligns) {
			continue
		}
		table := east.NewTable()
		table.Alignments = aligns
		table.AppendChild(table, east.NewTableHeader(row(lines[i-1], source)))
		rest := i + 1
		for ; rest < len(lines) && bytes.IndexByte(lines[rest].Value(source), '|') >= 0; rest++ {
			table.AppendChild(table, row(lines[rest], source))
		}
		parent := node.Parent()
		parent.InsertAfter(parent, node, table)
		if rest < len(lines) {
			after := ast.NewParagraph()
			for _, s := range lines[rest:] {
				after.Lines().Append(s.TrimLeftSpace(source))
			}
			last := lines[len(lines)-1]
			after.Lines().Set(after.Lines().Len()-1, text.NewSegment(trimmed(last, source)))
			parent.InsertAfter(parent, table, after)
		}
		if i > 1 {
			node.Lines().SetSliced(0, i-1)
			return
		}
		table.SetBlankPreviousLines(node.HasBlankPreviousLines())
		parent.RemoveChild(parent, node)
		return
	}
}

// alignments reads the line below the head of a table; nil if it is not one.
func alignments(line []byte) []east.Alignment {
	if bytes.IndexByte(line, '|') < 0 || len(bytes.Trim(line, "|-: \t\n")) > 0 {
		return nil
	}
	fields := bytes.Split(bytes.Trim(bytes.TrimSpace(line), "|"), []byte("|"))
	if len(fields) > maxColumns {
		return nil
	}
	var out []east.Alignment
	for _, f := range fields {
		f = bytes.TrimSpace(f)
		left, right := bytes.HasPrefix(f, []byte(":")), bytes.HasSuffix(f, []byte(":"))
		dashes := bytes.TrimSuffix(bytes.TrimPrefix(f, []byte(":")), []byte(":"))
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 {
			return nil
		}
		switch {
		case left && right:
			out = append(out, east.AlignCenter)
		case right:
			out = append(out, east.AlignRight)
		default:
			out = append(out, east.AlignLeft)
		}
	}
	return out
}

// cells cuts a line at its bars, except \|.
func cells(line text.Segment, source []byte) []text.Segment {
	start, stop := trimmed(line, source)
	if start < stop && source[start] == '|' {
		start++
	}
	if start < stop && source[stop-1] == '|' && source[stop-2] != '\\' {
		stop--
	}
	var out []text.Segment
	for i := start; i <= stop; i++ {
		if i == stop || source[i] == '|' && source[i-1] != '\\' {
			out = append(out, text.NewSegment(trimmed(text.NewSegment(start, i), source)))
			start = i + 1
		}
	}
	return out
}

func trimmed(s text.Segment, source []byte) (start, stop int) {
	s = s.TrimLeftSpace(source)
	s = s.TrimRightSpace(source)
	return s.Start, s.Stop
}

func row(line text.Segment, source []byte) *east.TableRow {
	r := east.NewTableRow(nil)
	for _, s := range cells(line, source) {
		cell := east.NewTableCell()
		cell.Lines().Append(s)
		r.AppendChild(r, cell)
	}
	return r
}

// table writes a table as a block of code with aligned columns: Telegram has none of its own.
func (r *renderer) table(n *east.Table) {
	r.begun = true
	var rows [][]string
	var widths []int
	for tr := n.FirstChild(); tr != nil; tr = tr.NextSibling() {
		var texts []string
		for td := tr.FirstChild(); td != nil; td = td.NextSibling() {
			s := r.cell(td)
			if len(texts) == len(widths) {
				widths = append(widths, 1)
			}
			widths[len(texts)] = max(widths[len(texts)], min(width(s), maxWidth))
			texts = append(texts, s)
		}
		rows = append(rows, texts)
	}
	r.langs = append(r.langs, "")
	l := r.base
	l.pre = len(r.langs)
	for i, texts := range rows {
		if i > 0 {
			r.put("\n", l)
		}
		r.put(formatRow(texts, widths, n.Alignments), l)
		if i == 0 {
			r.put("\n"+ruleOf(widths[:len(n.Alignments)]), l)
		}
	}
}

// cell returns the text of a cell: no entity can stand in a block of code.
func (r *renderer) cell(n ast.Node) string {
	sub := &renderer{source: r.source, flat: true}
	sub.inlines(n, look{})
	return strings.ReplaceAll(string(sub.text), "\n", " ")
}

func formatRow(texts []string, widths []int, aligns []east.Alignment) string {
	var b strings.Builder
	for i, s := range texts {
		if i > 0 {
			b.WriteString(" | ")
		}
		pad := max(0, widths[i]-width(s))
		left := 0
		if i < len(aligns) && aligns[i] == east.AlignRight {
			left = pad
		} else if i < len(aligns) && aligns[i] == east.AlignCenter {
			left = pad / 2
		}
		b.WriteString(strings.Repeat(" ", left) + s + strings.Repeat(" ", pad-left))
	}
	return strings.TrimRight(b.String(), " ")
}

func ruleOf(widths []int) string {
	var parts []string
	for _, w := range widths {
		parts = append(parts, strings.Repeat("-", w))
	}
	return strings.Join(parts, "-+-")
}

// width returns how many columns of a monospaced font s takes, near enough: marks none, East
// Asian characters and emoji two.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case 0x1100 <= r && r <= 0x115F, 0x2E80 <= r && r <= 0xA4CF && r != 0x303F, 0xAC00 <= r && r <= 0xD7A3,
			0xF900 <= r && r <= 0xFAFF, 0xFE30 <= r && r <= 0xFE6F, 0xFF00 <= r && r <= 0xFF60,
			0xFFE0 <= r && r <= 0xFFE6, 0x1F300 <= r && r <= 0x1FAFF, 0x20000 <= r && r <= 0x3FFFD:
			n += 2
		default:
			n++
		}
	}
	return n
}
