// Package markdown reads the one dialect of Markdown in which agents are shown, whatever shows them: a terminal, a
// chat, a page.
//
//	for _, block := range markdown.Parse(reply) {
//		write(block) // as the place wants it
//	}
//
// The dialect is CommonMark with the tables, bare links, task boxes and strikethrough of GitHub, without what would
// swallow text that was not meant as markup: HTML, <name>, link reference definitions, headings underlined with ---.
// Each word of the source is in the text of a span, in the code of a block or in the target of a link. No control
// character is: [Clean] has been over all of it, also over what references such as &#27; stand for.
package markdown

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"lethe/internal/screen"
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

// Kind says which fields of a Block are set.
type Kind int

// Kinds of blocks.
const (
	Paragraph Kind = iota // Text
	Heading               // Text
	Code                  // Code and Lang
	Rule
	Quote // Blocks
	List  // Blocks, all of them items, and Start
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
	Start  int    // the number of the first item; 0 where items have none
	Mark   string // "• " or "2. "
	Rows   [][][]Span
	Align  []string // of each column: "left", "center", "right" or "none"
}

// Span is text of one style. A newline in it is the author's.
type Span struct {
	Text string
	Style
}

// Style is the style of text.
type Style struct {
	Bold, Italic, Struck, Code bool
	Link                       string // where a click leads; it may be no address at all
}

const (
	// maxSource bounds the bytes that are parsed: the time of the parser grows with the square of some texts.
	maxSource = 24 << 10
	// maxMarks bounds the marks of quotations and lists at the beginning of a line, of which each is a level.
	maxMarks = 200
)

var dialect = sync.OnceValue(func() parser.Parser {
	blocks := without(parser.DefaultBlockParsers(), 100, 900) // underlined headings, HTML
	inlines := without(parser.DefaultInlineParsers(), 400)    // HTML
	p := parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...))
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extension.GFM)).Parser()
})

// without leaves out the parsers of some priorities.
func without(all []util.PrioritizedValue, priorities ...int) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(p util.PrioritizedValue) bool { return slices.Contains(priorities, p.Priority) })
}

// Parse reads a text. One that is too long, or on which the parser fails, is a paragraph as it is written.
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

// Clean makes each line end \n, and what a terminal could obey visible.
func Clean(s string) string { return screen.Sanitize(lineEnds.Replace(s)) }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\u2028", "\n", "\u2029", "\n", "\uFEFF", "")

// walk turns the tree of its source into blocks.
type walk []byte

func (w walk) blocks(parent ast.Node) (all []Block) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b := w.block(n)
		b.Apart = b.Kind == Table || w.apart(n.Pos())
		all = append(all, b)
	}
	return all
}

// apart reports whether the line before that of a position is blank. The parser says so also behind code.
func (w walk) apart(pos int) bool {
	end := bytes.LastIndexByte(w[:max(pos, 0)], '\n')
	if end < 0 {
		return false
	}
	begin := bytes.LastIndexByte(w[:end], '\n') + 1
	return len(bytes.Trim(w[begin:end], " \t>")) == 0
}

func (w walk) block(node ast.Node) Block {
	switch n := node.(type) {
	case *ast.List:
		list := Block{Kind: List, Start: n.Start, Blocks: w.blocks(n)}
		for i := range list.Blocks {
			list.Blocks[i].Mark = "• "
			if n.IsOrdered() {
				list.Blocks[i].Mark = fmt.Sprintf("%d%c ", n.Start+i, n.Marker)
			}
		}
		return list
	case *ast.ListItem:
		return Block{Kind: Item, Blocks: w.blocks(n)}
	case *ast.Blockquote:
		return Block{Kind: Quote, Blocks: w.blocks(n)}
	case *ast.FencedCodeBlock:
		return Block{Kind: Code, Code: w.code(n), Lang: decode(n.Language(w))}
	case *ast.CodeBlock:
		return Block{Kind: Code, Code: w.code(n)}
	case *ast.ThematicBreak:
		return Block{Kind: Rule}
	case *east.Table:
		return w.table(n)
	case *ast.Heading:
		return Block{Kind: Heading, Text: w.spans(n, Style{})}
	}
	return Block{Text: w.spans(node, Style{})} // *ast.Paragraph, *ast.TextBlock
}

func (w walk) code(n ast.Node) string { return strings.TrimRight(string(n.Lines().Value(w)), " \t\n") }

func (w walk) table(n *east.Table) Block {
	b := Block{Kind: Table}
	for _, a := range n.Alignments {
		b.Align = append(b.Align, a.String())
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]Span
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, w.spans(c, Style{}))
		}
		if last := row.LastChild(); last != nil && last.Lines().Len() > 0 {
			// The parser drops the cells of a row that has more than the head.
			line, _, _ := strings.Cut(string(w[last.Lines().At(0).Stop:]), "\n")
			if more := strings.Trim(line, "| \t"); more != "" {
				end := &cells[len(cells)-1]
				*end = append(*end, Span{Text: " | " + decode([]byte(more))})
			}
		}
		b.Rows = append(b.Rows, cells)
	}
	return b
}

// spans reads the text in a node, whose own style is s.
func (w walk) spans(parent ast.Node, s Style) (all []Span) {
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		in := s
		switch n := node.(type) {
		case *ast.Text:
			all = append(all, Span{w.text(n), s})
		case *east.TaskCheckBox:
			all = append(all, Span{map[bool]string{false: "☐ ", true: "☑ "}[n.IsChecked], s})
		case *ast.AutoLink:
			all = append(all, w.address(n, s))
		case *ast.CodeSpan:
			in.Code = true
		case *ast.Emphasis:
			in.Italic = s.Italic || n.Level == 1
			in.Bold = s.Bold || n.Level == 2
		case *east.Strikethrough:
			in.Struck = true
		case *ast.Link:
			in.Link = decode(n.Destination)
		case *ast.Image:
			in.Link = decode(n.Destination)
		}
		inner := w.spans(node, in)
		if inner == nil && in.Link != s.Link { // a link without words
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

// address reads <https://example.org>, or an address without brackets. <std::string> is none.
func (w walk) address(n *ast.AutoLink, s Style) Span {
	label, to := string(n.Label(w)), string(n.URL(w))
	if strings.Contains(to, "://") {
		s.Link = to
	} else if n.AutoLinkType == ast.AutoLinkURL {
		label = "<" + label + ">"
	}
	return Span{label, s}
}

// decode resolves backslashes and character references in a piece of source.
func decode(source []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	gmhtml.DefaultWriter.Write(w, source)
	_ = w.Flush() // into memory
	return Clean(html.UnescapeString(b.String()))
}

// Target returns the address of a link that ends with spans[i]; empty if none does, or its text is the address.
func Target(spans []Span, i int) string {
	to := spans[i].Link
	if to == spans[i].Text || i+1 < len(spans) && spans[i+1].Link == to {
		return ""
	}
	return to
}

// Grid sets the table in columns, in at most width cells of a screen. format formats a cell.
func (b Block) Grid(width int, format func(cell []Span, head bool) string) string {
	positions := map[string]lipgloss.Position{"center": lipgloss.Center, "right": lipgloss.Right}
	t := table.New().BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false)
	t.StyleFunc(func(_, column int) lipgloss.Style {
		return lipgloss.NewStyle().Padding(0, 1, 0, min(column, 1)).Align(positions[b.Align[column]])
	})
	natural := 0 // too much, rather than too little
	for i, row := range b.Rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, format(cell, i == 0))
		}
		if i == 0 {
			t.Headers(cells...)
		} else {
			t.Row(cells...)
		}
		natural = max(natural, lipgloss.Width(strings.Join(cells, " │ ")))
	}
	if natural > width {
		t.Width(width)
	}
	return t.Render()
}
