package terminal

import (
	"strings"

	"charm.land/lipgloss/v2"

	"lethe/internal/markdown"
)

// laidOut lays a text in Markdown out as rows of at most width cells.
func laidOut(source string, width int) (rows []string) {
	if width < 12 { // indents leave no room for words
		return wrap(clean(source), width)
	}
	for _, row := range blockRows(markdown.Parse(source), width, false) {
		for _, row := range wrap(row, width) { // what is deeply nested, and tables with many columns, do not fit
			rows = append(rows, strings.TrimRight(row, " "))
		}
	}
	return append(rows, make([]string, max(1-len(rows), 0))...)
}

// blockRows lays out blocks: lists with the blank lines of the source, others with one.
func blockRows(blocks []markdown.Block, width int, listed bool) (rows []string) {
	for i, part := range blocks {
		apart := part.Apart
		if !listed && part.Kind != markdown.List {
			apart = true
		}
		if i > 0 && apart {
			rows = append(rows, "")
		}
		rows = append(rows, oneBlock(part, width)...)
	}
	return rows
}

func oneBlock(part markdown.Block, width int) (rows []string) {
	switch part.Kind {
	case markdown.List:
		return blockRows(part.Blocks, width, true)
	case markdown.Item:
		rest := strings.Repeat(" ", max(2, len([]rune(part.Mark))))
		return within(blockRows(part.Blocks, width-len(rest), true), part.Mark, rest)
	case markdown.Quote:
		bar := dim.Render("│") + " "
		return within(blockRows(part.Blocks, width-2, false), bar, bar)
	case markdown.Code:
		for _, row := range wrap(tabs(part.Code), width-2) {
			rows = append(rows, code.Render(row))
		}
		return within(rows, "  ", "  ")
	case markdown.Rule:
		return []string{dim.Render(strings.Repeat("─", 8))}
	case markdown.Table:
		return strings.Split(part.Grid(width, cell), "\n")
	case markdown.Heading:
		return wrap(styled(part.Text, agentName), width)
	}
	return wrap(styled(part.Text, unstyled), width)
}

// within puts first before the first row, and rest before the others.
func within(rows []string, first, rest string) []string {
	if len(rows) == 0 {
		return []string{first}
	}
	for i := range rows {
		rows[i] = rest + rows[i]
	}
	rows[0] = first + strings.TrimPrefix(rows[0], rest)
	return rows
}

// styled writes spans in their styles on top of base, and behind each link where it leads.
func styled(spans []markdown.Span, base lipgloss.Style) string {
	var out strings.Builder
	for i, span := range spans {
		style := base
		switch {
		case span.Code:
			style = code.Inherit(base)
		case span.Link != "" && span.Link == span.Text:
			style = link.Inherit(base)
		}
		if span.Bold || span.Link != "" {
			style = style.Bold(true)
		}
		if span.Italic {
			style = style.Italic(true)
		}
		if span.Struck {
			style = style.Strikethrough(true)
		}
		out.WriteString(style.Render(tabs(span.Text)))
		if to := markdown.Target(spans, i); to != "" {
			out.WriteString(" " + link.Inherit(base).Render(oneLine(to)))
		}
	}
	return out.String()
}

// cell is a cell of a table.
func cell(spans []markdown.Span, head bool) string {
	if head {
		return styled(spans, bold)
	}
	return styled(spans, unstyled)
}
