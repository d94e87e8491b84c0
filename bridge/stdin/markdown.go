package stdin

import (
	"bufio"
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	lgtable "charm.land/lipgloss/v2/table"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"lethe/internal/lazy"
)

// maxMarkdown bounds the bytes that are laid out as markdown, which takes up to
// a few milliseconds per KB; a longer message is shown as it was written.
const maxMarkdown = 32 << 10

// dialect is CommonMark with tables, strikethrough, task boxes and bare links, without what would
// swallow or change text that an agent did not mean as markup: HTML, <name>, link
// reference definitions, and headings underlined with ---.
var dialect = sync.OnceValue(func() parser.Parser {
	without := func(all []util.PrioritizedValue, priorities ...int) []util.PrioritizedValue {
		return slices.DeleteFunc(all, func(p util.PrioritizedValue) bool { return slices.Contains(priorities, p.Priority) })
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(without(parser.DefaultBlockParsers(), 100, 900)...),   // underlined headings, HTML
			parser.WithInlineParsers(without(parser.DefaultInlineParsers(), 300, 400)...), // <name>, HTML
		)),
		goldmark.WithExtensions(extension.GFM),
	).Parser()
})

// markdown lays text out as rows of at most width cells; text that the parser cannot be trusted
// with is wrapped as it is.
func markdown(source string, width int) (rows []string) {
	source = clean(source)
	// Below a dozen cells indents leave no room for words.
	if width < 12 || len(source) > maxMarkdown || deep(source) {
		return wrap(source, width)
	}
	defer func() {
		if recover() != nil { // the parser met something it did not expect
			rows = wrap(source, width)
		}
	}()
	l := layout{[]byte(source + "\n")}
	for _, row := range l.blocks(dialect().Parse(text.NewReader(l.source)), width) {
		for _, row := range wrap(row, width) { // what is deeply nested, and tables with many columns, do not fit
			rows = append(rows, strings.TrimRight(row, " "))
		}
	}
	return append(rows, make([]string, max(1-len(rows), 0))...)
}

// containers is what begins a line in nested quotes and lists.
var containers = lazy.Regexp(`^(?: |>|[*+-] |\d{1,9}[.)] )+`)

// deep says whether lines of text are nested further, or more often, than
// anybody writes: each level of a quote or list is laid out again for all
// the levels around it.
func deep(text string) bool {
	work := 0
	for line := range strings.SplitSeq(text, "\n") {
		head := containers().FindString(line)
		marks := len(head) - strings.Count(head, " ")
		if work += marks * marks; marks > 8 || marks > 0 && len(head) > 24 || work > 4000 {
			return true
		}
	}
	return false
}

// layout is a text that is being laid out.
type layout struct{ source []byte }

// blocks lays out the children of a block: lists with the blank lines of the source, others with one.
func (l layout) blocks(parent ast.Node, width int) (rows []string) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		listed := c.Kind() == ast.KindList || c.Kind() == ast.KindListItem || parent.Kind() == ast.KindListItem
		if c.PreviousSibling() != nil && (c.HasBlankPreviousLines() || !listed) {
			rows = append(rows, "")
		}
		rows = append(rows, l.block(c, width)...)
	}
	return rows
}

func (l layout) block(node ast.Node, width int) []string {
	switch n := node.(type) {
	case *ast.List:
		return l.blocks(n, width)
	case *ast.ListItem:
		mark := marker(n)
		rest := strings.Repeat(" ", max(2, len([]rune(mark))))
		return within(l.blocks(n, width-len(rest)), mark, rest)
	case *ast.Blockquote:
		return within(l.blocks(n, width-2), dim.Render("│")+" ", dim.Render("│")+" ")
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		var rows []string
		for line := range strings.SplitSeq(strings.TrimRight(string(n.Lines().Value(l.source)), "\n"), "\n") {
			for _, row := range wrap(line, width-2) {
				rows = append(rows, code.Render(row))
			}
		}
		return within(rows, "  ", "  ")
	case *ast.ThematicBreak:
		return []string{dim.Render(strings.Repeat("─", 8))}
	case *east.Table:
		return l.table(n, width)
	case *ast.Heading:
		return wrap(l.inlines(n, agentName), width)
	default: // *ast.Paragraph, *ast.TextBlock
		return wrap(l.inlines(n, unstyled), width)
	}
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

func marker(n *ast.ListItem) string {
	list := n.Parent().(*ast.List)
	if list.IsOrdered() {
		number := list.Start
		for c := n.PreviousSibling(); c != nil; c = c.PreviousSibling() {
			number++
		}
		return fmt.Sprintf("%d%c ", number, list.Marker)
	}
	if first := n.FirstChild(); first != nil && first.FirstChild() != nil && first.FirstChild().Kind() == east.KindTaskCheckBox {
		return "" // its box
	}
	return "• "
}

// inlines writes the inline children of a node in the given style.
func (l layout) inlines(parent ast.Node, style lipgloss.Style) string {
	var b strings.Builder
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		switch n := c.(type) {
		case *ast.Text:
			value := n.Segment.Value(l.source)
			if n.IsRaw() {
				b.WriteString(style.Render(strings.ReplaceAll(string(value), "\n", " ")))
			} else {
				b.WriteString(style.Render(decoded(value)))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteString("\n")
			}
		case *ast.CodeSpan:
			b.WriteString(l.inlines(n, code.Inherit(style)))
		case *ast.Emphasis:
			b.WriteString(l.inlines(n, map[int]lipgloss.Style{1: style.Italic(true), 2: style.Bold(true)}[n.Level]))
		case *east.Strikethrough:
			b.WriteString(l.inlines(n, style.Strikethrough(true)))
		case *east.TaskCheckBox:
			b.WriteString(map[bool]string{false: "☐ ", true: "☑ "}[n.IsChecked])
		case *ast.AutoLink:
			b.WriteString(link.Inherit(style).Render(clean(string(n.Label(l.source)))))
		case *ast.Link:
			b.WriteString(l.link(n, n.Destination, style))
		case *ast.Image:
			b.WriteString(l.link(n, n.Destination, style))
		default:
			b.WriteString(l.inlines(n, style))
		}
	}
	return b.String()
}

// link is the text of a link or an image, and where it leads.
func (l layout) link(n ast.Node, destination []byte, style lipgloss.Style) string {
	to := link.Inherit(style).Render(oneLine(decoded(destination)))
	if shown := l.inlines(n, style.Bold(true)); shown != "" {
		return shown + " " + to
	}
	return to
}

// decoded resolves backslashes and character references in a piece of source. What they hide from
// clean is cleaned here.
func decoded(source []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	gmhtml.DefaultWriter.Write(w, source)
	_ = w.Flush() // into memory
	return clean(html.UnescapeString(b.String()))
}

// table sets a table in columns, which are narrowed where they do not fit.
func (l layout) table(n *east.Table, width int) []string {
	cell := unstyled.Padding(0, 1)
	align := map[east.Alignment]lipgloss.Position{east.AlignCenter: lipgloss.Center, east.AlignRight: lipgloss.Right}
	t := lgtable.New().BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderStyle(dim)
	t.StyleFunc(func(_, column int) lipgloss.Style { return cell.Align(align[n.Alignments[column]]) })
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			style := unstyled
			if row.Kind() == east.KindTableHeader {
				style = bold
			}
			cells = append(cells, l.inlines(c, style))
		}
		if row.Kind() == east.KindTableHeader {
			t.Headers(cells...)
		} else {
			t.Row(cells...)
		}
	}
	out := t.Render()
	if lipgloss.Width(out) > width {
		out = t.Width(width).Render()
	}
	return strings.Split(out, "\n")
}
