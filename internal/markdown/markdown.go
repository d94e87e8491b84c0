// Package markdown reads the one dialect of Markdown that a terminal, a chat and a page show for agents.
//
//	for _, block := range markdown.Parse(reply) {
//		write(block) // as the place wants it
//	}
//
// The dialect is CommonMark with the tables, bare links, task boxes and strikethrough of GitHub. It leaves out the
// markup that swallows text which its author did not mean as markup: HTML, <name>, link reference definitions,
// headings underlined with ---. Each word of the source is in the text of a span, in the code of a block or in the
// target of a link. [Clean] has made all control characters visible, also if a reference such as &#27; wrote them.
package markdown

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"lethe/internal/screen"
	"net/url"
	"slices"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Kind is the kind of a block. It determines the fields of the Block that are set.
type Kind int

// Kinds of blocks.
const (
	Paragraph Kind = iota // Text
	Heading               // Text
	Code                  // Code and Lang
	Rule
	Quote // Blocks
	List  // Blocks, which are items, and Start
	Item  // Blocks and Mark
	Table // Rows and Align
)

// Block is a block of a text.
type Block struct {
	Kind   Kind
	Apart  bool // a blank line stands before it
	Text   []Span
	Blocks []Block
	Code   string // without a newline at its end
	Lang   string // as the author named it
	Start  int    // the number of the first item; 0 in a list without numbers
	Mark   string // "• " or "2. "
	Rows   [][][]Span
	Align  []string // for each column "left", "center", "right" or "none"
}

// Span is text of one style. A newline in it is the author's.
type Span struct {
	Text string
	Style
}

// Target returns the target of a link to the web or to mail, and "" for others: a path would lead into the server that
// shows it.
func (s Span) Target() string {
	target, err := url.Parse(s.Link)
	if err != nil {
		return ""
	}
	isWeb := target.Scheme == "http" || target.Scheme == "https"
	toHost := isWeb && target.Host != ""
	if !toHost && target.Scheme != "mailto" {
		return ""
	}
	return s.Link
}

// Style is the style of text.
type Style struct {
	Bold, Italic, Struck, Code bool
	Link                       string // the target of a click, as its author wrote it; "" without a link
}

const (
	// maxSource is the longest text that is parsed, in bytes: for some texts the parser's time grows with the square.
	maxSource = 24 << 10
	// maxMarks is the most marks of quotations and lists at the beginning of a line: each opens a level.
	maxMarks = 200
)

var dialect = sync.OnceValue(func() parser.Parser {
	blocks := without(parser.DefaultBlockParsers(), 100, 900) // underlined headings, HTML
	inlines := without(parser.DefaultInlineParsers(), 400)    // HTML
	p := parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...))
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extension.GFM)).Parser()
})

// without removes the parsers of some priorities.
func without(all []util.PrioritizedValue, priorities ...int) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(p util.PrioritizedValue) bool { return slices.Contains(priorities, p.Priority) })
}

// Parse reads a text. If it is longer than 24 KiB or nested deeper than 200 levels, or the parser fails, Parse returns
// the source as one paragraph.
func Parse(source string) (blocks []Block) {
	source = Clean(source)
	literal := []Block{{Text: []Span{{Text: source}}}}
	if len(source) > maxSource || deep(source) {
		return literal
	}
	defer func() {
		if recover() != nil {
			blocks = literal
		}
	}()
	w := walk(source + "\n") // the parser overlooks things in a last line without an end
	return w.blocks(dialect().Parse(text.NewReader(w)))
}

func deep(source string) bool {
	for line := range strings.Lines(source) {
		if len(line)-len(strings.TrimLeft(line, " >+-*.)0123456789")) > maxMarks {
			return true
		}
	}
	return false
}

// Clean makes each line end in \n, and makes visible the characters that a terminal could obey.
func Clean(s string) string { return screen.Sanitize(lineEnds.Replace(s)) }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\u2028", "\n", "\u2029", "\n", "\uFEFF", "")

// walk turns the tree of its source into blocks.
type walk []byte

func (w walk) blocks(parent ast.Node) (all []Block) {
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		block := w.block(node)
		block.Apart = block.Kind == Table || w.apart(node.Pos())
		all = append(all, block)
	}
	return all
}

// apart reports whether a blank line stands before the line of a position. (The parser's own answer is also true
// behind code.)
func (w walk) apart(pos int) bool {
	end := bytes.LastIndexByte(w[:max(pos, 0)], '\n')
	if end < 0 {
		return false
	}
	begin := bytes.LastIndexByte(w[:end], '\n') + 1
	return len(bytes.Trim(w[begin:end], " \t>")) == 0
}

func (w walk) block(node ast.Node) Block {
	switch node := node.(type) {
	case *ast.List:
		list := Block{Kind: List, Start: node.Start, Blocks: w.blocks(node)}
		for i := range list.Blocks {
			list.Blocks[i].Mark = "• "
			if node.IsOrdered() {
				list.Blocks[i].Mark = fmt.Sprintf("%d%c ", node.Start+i, node.Marker)
			}
		}
		return list
	case *ast.ListItem:
		return Block{Kind: Item, Blocks: w.blocks(node)}
	case *ast.Blockquote:
		return Block{Kind: Quote, Blocks: w.blocks(node)}
	case *ast.FencedCodeBlock:
		return Block{Kind: Code, Code: w.code(node), Lang: decode(node.Language(w))}
	case *ast.CodeBlock:
		return Block{Kind: Code, Code: w.code(node)}
	case *ast.ThematicBreak:
		return Block{Kind: Rule}
	case *east.Table:
		return w.table(node)
	case *ast.Heading:
		return Block{Kind: Heading, Text: w.spans(node, Style{})}
	}
	return Block{Text: w.spans(node, Style{})} // *ast.Paragraph, *ast.TextBlock
}

func (w walk) code(n ast.Node) string { return strings.TrimRight(string(n.Lines().Value(w)), " \t\n") }

func (w walk) table(node *east.Table) Block {
	block := Block{Kind: Table}
	for _, alignment := range node.Alignments {
		block.Align = append(block.Align, alignment.String())
	}
	for row := node.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]Span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.spans(cell, Style{}))
		}
		if last := row.LastChild(); last != nil && last.Lines().Len() > 0 {
			// The parser drops the cells of a row that has more than the head.
			line, _, _ := strings.Cut(string(w[last.Lines().At(0).Stop:]), "\n")
			if more := strings.Trim(line, "| \t"); more != "" {
				end := &cells[len(cells)-1]
				*end = append(*end, Span{Text: " | " + decode([]byte(more))})
			}
		}
		block.Rows = append(block.Rows, cells)
	}
	return block
}

// spans reads the text in a node that has the given style.
func (w walk) spans(parent ast.Node, style Style) (all []Span) {
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		in := style
		switch typed := node.(type) {
		case *ast.Text:
			all = append(all, Span{w.text(typed), style})
		case *east.TaskCheckBox:
			all = append(all, Span{map[bool]string{false: "☐ ", true: "☑ "}[typed.IsChecked], style})
		case *ast.AutoLink:
			all = append(all, w.address(typed, style))
		case *ast.CodeSpan:
			in.Code = true
		case *ast.Emphasis:
			in.Italic = style.Italic || typed.Level == 1
			in.Bold = style.Bold || typed.Level == 2
		case *east.Strikethrough:
			in.Struck = true
		case *ast.Link:
			in.Link = decode(typed.Destination)
		case *ast.Image:
			in.Link = decode(typed.Destination)
		}
		inner := w.spans(node, in)
		if inner == nil && in.Link != style.Link { // a link without words
			inner = []Span{{in.Link, in}}
		}
		all = append(all, inner...)
	}
	return all
}

func (w walk) text(n *ast.Text) string {
	value := n.Segment.Value(w)
	if n.IsRaw() {
		return strings.ReplaceAll(string(value), "\n", " ")
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		return decode(value) + "\n"
	}
	return decode(value)
}

// address reads <https://example.org>, or an address without brackets. It leaves <std::string> as text.
func (w walk) address(link *ast.AutoLink, style Style) Span {
	label, to := string(link.Label(w)), string(link.URL(w))
	if strings.Contains(to, "://") {
		style.Link = to
	} else if link.AutoLinkType == ast.AutoLinkURL {
		label = "<" + label + ">"
	}
	return Span{label, style}
}

// decode resolves backslashes and character references in a piece of source.
func decode(source []byte) string {
	var text strings.Builder
	out := bufio.NewWriter(&text)
	gmhtml.DefaultWriter.Write(out, source)
	_ = out.Flush() // into memory
	return Clean(html.UnescapeString(text.String()))
}

// Target returns the address of the link that ends with spans[i]. It returns "" if no link ends there, or if the
// link's text is the address.
func Target(spans []Span, i int) string {
	to := spans[i].Link
	goesOn := i+1 < len(spans) && spans[i+1].Link == to
	if goesOn || to == spans[i].Text {
		return ""
	}
	return to
}

// Grid sets the table in columns, in at most width cells of a screen. format formats a cell.
func (b Block) Grid(width int, format func(cell []Span, head bool) string) string {
	positions := map[string]lipgloss.Position{"center": lipgloss.Center, "right": lipgloss.Right}
	grid := table.New().BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false)
	grid.StyleFunc(func(_, column int) lipgloss.Style {
		return lipgloss.NewStyle().Padding(0, 1, 0, min(column, 1)).Align(positions[b.Align[column]])
	})
	natural := 0 // at least the width that the table takes by itself
	for i, row := range b.Rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, format(cell, i == 0))
		}
		if i == 0 {
			grid.Headers(cells...)
		} else {
			grid.Row(cells...)
		}
		natural = max(natural, lipgloss.Width(strings.Join(cells, " │ ")))
	}
	if natural > width {
		grid.Width(width)
	}
	return grid.Render()
}
