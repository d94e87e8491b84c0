package markup

import (
	"bytes"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const (
	maxColumns = 64 // of a table; a wider one stays text
	maxWidth   = 40 // columns of the screen to which a cell is padded
)

// tables finds tables in paragraphs: a line with bars, a line such as |---|--:|, and the lines
// with bars that follow. Unlike goldmark's own rule it keeps surplus cells.
type tables struct{}

func (tables) Transform(node *ast.Paragraph, r text.Reader, _ parser.Context) {
	source, lines, parent := r.Source(), node.Lines().Sliced(0, node.Lines().Len()), node.Parent()
	for i := 1; i < len(lines); i++ {
		right := alignments(lines[i].Value(source))
		if right == nil || len(cells(lines[i-1], source)) != len(right) {
			continue
		}
		table := east.NewTable()
		table.Alignments = right
		table.AppendChild(table, row(lines[i-1], source))
		rest := i + 1
		for ; rest < len(lines) && bytes.IndexByte(lines[rest].Value(source), '|') >= 0; rest++ {
			table.AppendChild(table, row(lines[rest], source))
		}
		parent.InsertAfter(parent, node, table)
		if rest < len(lines) {
			after := ast.NewParagraph()
			for _, s := range lines[rest:] {
				after.Lines().Append(s.TrimLeftSpace(source))
			}
			after.Lines().Set(after.Lines().Len()-1, trimmed(lines[len(lines)-1], source))
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
func alignments(line []byte) (out []east.Alignment) {
	if bytes.IndexByte(line, '|') < 0 || len(bytes.Trim(line, "|-: \t\n")) > 0 {
		return nil
	}
	fields := bytes.Split(bytes.Trim(bytes.TrimSpace(line), "|"), []byte("|"))
	if len(fields) > maxColumns {
		return nil
	}
	for _, f := range fields {
		f = bytes.TrimSpace(f)
		dashes := bytes.TrimSuffix(bytes.TrimPrefix(f, []byte(":")), []byte(":"))
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 {
			return nil
		}
		align := east.AlignLeft
		if bytes.HasSuffix(f, []byte(":")) && !bytes.HasPrefix(f, []byte(":")) {
			align = east.AlignRight
		}
		out = append(out, align)
	}
	return out
}

// cells cuts a line at its bars, except \|.
func cells(line text.Segment, source []byte) (out []text.Segment) {
	line = trimmed(line, source)
	start, stop := line.Start, line.Stop
	if start < stop && source[start] == '|' {
		start++
	}
	if start < stop && source[stop-1] == '|' && source[stop-2] != '\\' {
		stop--
	}
	for i := start; i <= stop; i++ {
		if i == stop || source[i] == '|' && source[i-1] != '\\' {
			out = append(out, trimmed(text.NewSegment(start, i), source))
			start = i + 1
		}
	}
	return out
}

func trimmed(s text.Segment, source []byte) text.Segment {
	s = s.TrimLeftSpace(source)
	return s.TrimRightSpace(source)
}

func row(line text.Segment, source []byte) ast.Node {
	r := east.NewTableRow(nil)
	for _, s := range cells(line, source) {
		cell := east.NewTableCell()
		cell.Lines().Append(s)
		r.AppendChild(r, cell)
	}
	return r
}

// table writes a table as a block of code with aligned columns.
func (r *renderer) table(n *east.Table) {
	var rows [][]string
	widths := make([]int, len(n.Alignments))
	for tr := n.FirstChild(); tr != nil; tr = tr.NextSibling() {
		var texts []string
		for td := tr.FirstChild(); td != nil; td = td.NextSibling() {
			s := r.cell(td)
			if len(texts) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(texts)] = max(widths[len(texts)], min(ansi.StringWidth(s), maxWidth), 1)
			texts = append(texts, s)
		}
		rows = append(rows, texts)
	}
	var b strings.Builder
	for i, texts := range rows {
		for j, s := range texts {
			pad := strings.Repeat(" ", max(0, widths[j]-ansi.StringWidth(s)))
			if j < len(n.Alignments) && n.Alignments[j] == east.AlignRight {
				s, pad = pad+s, ""
			}
			switch {
			case j == 0:
				b.WriteString(s)
			default:
				b.WriteString(" | " + s)
			}
			if j < len(texts)-1 {
				b.WriteString(pad)
			}
		}
		b.WriteByte('\n')
		if i == 0 {
			for j := range n.Alignments {
				b.WriteString(strings.Repeat("-", widths[j]) + map[bool]string{true: "-+-"}[j < len(n.Alignments)-1])
			}
			b.WriteByte('\n')
		}
	}
	r.pre(b.String(), "")
}

// cell returns the text of a cell: nothing in a block of code is marked.
func (r *renderer) cell(n ast.Node) string {
	sub := &renderer{source: r.source, flat: true}
	sub.inlines(n, look{})
	return strings.ReplaceAll(strings.ReplaceAll(sub.text.String(), "\n", " "), `\|`, "|")
}
