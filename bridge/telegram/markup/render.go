package markup

import (
	"bufio"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	indent  = "    "       // of what is nested in a list
	rule    = "──────────" // a thematic break
	maxLang = 32           // bytes of the name of a language
	maxURL  = 2048         // bytes of a link's target; a longer one is shown as text
)

// dialect is CommonMark with strikethrough and task boxes, without what would swallow text that
// a model did not mean as markup: HTML, link reference definitions, and headings underlined
// with ---. Tables are found by the renderer.
var dialect = parser.NewParser(
	parser.WithBlockParsers(without(parser.DefaultBlockParsers(), 100, 900)...), // underlined headings, HTML
	parser.WithInlineParsers(append(without(parser.DefaultInlineParsers(), 400), // HTML
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0), util.Prioritized(extension.NewStrikethroughParser(), 500))...),
)

// without are the parsers of other priorities.
func without(all []util.PrioritizedValue, priorities ...int) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(p util.PrioritizedValue) bool { return slices.Contains(priorities, p.Priority) })
}

// tooManyMarks says whether goldmark would take long: its time grows with the square of the
// marks in a block and of the depth of nesting.
func tooManyMarks(s string) bool {
	const most = 3000
	for _, mark := range []string{"*", "_", "~", "`", "[", ">", "+ ", "- ", ". ", ") "} {
		for block := range strings.SplitSeq(s, "\n\n") {
			if strings.Count(block, mark) > most {
				return true
			}
		}
	}
	return false
}

// renderer writes a tree as a doc.
type renderer struct {
	doc
	source []byte
	base   look   // of the block at hand: its quotation, if any
	prefix string // the indentation of each line of the block
	fresh  bool   // the prefix of the present line is not written yet
}

// render returns source as a doc.
func render(source string) *doc {
	r := &renderer{}
	r.markdown(source)
	return &r.doc
}

// markdown writes source. goldmark overlooks things in a last line without an end.
func (r *renderer) markdown(source string) {
	outer := r.source
	r.source = []byte(source + "\n")
	r.blocks(dialect.Parse(text.NewReader(r.source)))
	r.source = outer
}

// blocks writes the children of parent, with the blank lines of the source.
func (r *renderer) blocks(parent ast.Node) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		if prev := c.PreviousSibling(); prev != nil {
			if parent.Kind() == ast.KindDocument && prev.Kind() != ast.KindHeading && !strings.HasSuffix(r.text.String(), ":") {
				r.breaks = append(r.breaks, r.text.Len())
			}
			r.newline(r.base)
			// goldmark does not see blank lines in quotations.
			if c.HasBlankPreviousLines() || c.Kind() == ast.KindParagraph && prev.Kind() == ast.KindParagraph {
				r.newline(r.base)
			}
		}
		r.block(c)
	}
}

func (r *renderer) newline(l look) {
	r.put("\n", l)
	r.fresh = true
}

// write writes text into a line, behind its prefix.
func (r *renderer) write(s string, l look) {
	if r.fresh {
		r.fresh = false
		r.put(r.prefix, r.base)
	}
	r.put(s, l)
}

func (r *renderer) block(node ast.Node) {
	switch n := node.(type) {
	case *ast.List:
		r.blocks(n)
	case *ast.ListItem:
		r.item(n)
	case *ast.Blockquote: // Telegram has none inside another
		outer := r.base
		r.base.quote = true
		r.blocks(n)
		r.base = outer
	case *ast.FencedCodeBlock:
		lang := unescape(n.Language(r.source))
		if len(lang) > maxLang || lang != escape(lang) {
			lang = ""
		}
		r.pre(string(n.Lines().Value(r.source)), lang)
	case *ast.CodeBlock:
		r.pre(string(n.Lines().Value(r.source)), "")
	case *ast.ThematicBreak:
		r.write(rule, r.base)
	case *ast.Heading:
		l := r.base
		l.bold = true
		r.inlines(n, l)
	default: // *ast.Paragraph, *ast.TextBlock
		if !r.table(n) {
			r.inlines(n, r.base)
		}
	}
}

func (r *renderer) item(n *ast.ListItem) {
	list, marker := n.Parent().(*ast.List), "• "
	if list.IsOrdered() {
		number := list.Start
		for c := n.PreviousSibling(); c != nil; c = c.PreviousSibling() {
			number++
		}
		marker = fmt.Sprintf("%d%c ", number, list.Marker)
	} else if first := n.FirstChild(); first != nil && first.FirstChild() != nil && first.FirstChild().Kind() == east.KindTaskCheckBox {
		marker = ""
	}
	r.write(marker, r.base)
	outer := r.prefix
	r.prefix += indent
	r.blocks(n)
	r.prefix = outer
}

// pre writes a block of code, without prefixes.
func (r *renderer) pre(code, lang string) {
	r.fresh = false
	r.put(strings.TrimRight(code, " \t\n"), look{quote: r.base.quote, pre: true, lang: lang})
}

// inlines writes the inline children of a node in the given look.
func (r *renderer) inlines(parent ast.Node, l look) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		inner := l
		switch n := c.(type) {
		case *ast.Text:
			value := n.Segment.Value(r.source)
			if n.IsRaw() {
				r.write(strings.ReplaceAll(string(value), "\n", " "), l)
			} else {
				r.write(unescape(value), l)
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				r.newline(l)
			}
		case *ast.CodeSpan:
			inner.code = true
			r.inlines(n, inner)
		case *ast.Emphasis:
			inner.bold, inner.italic = l.bold || n.Level == 2, l.italic || n.Level == 1
			r.inlines(n, inner)
		case *east.Strikethrough:
			inner.struck = true
			r.inlines(n, inner)
		case *east.TaskCheckBox:
			r.write(map[bool]string{false: "☐ ", true: "☑ "}[n.IsChecked], l)
		case *ast.AutoLink: // Telegram finds addresses by itself; <std::string> is none
			label := string(n.Label(r.source))
			if !linkable(label) {
				label = "<" + label + ">"
			}
			r.write(label, l)
		case *ast.Link:
			r.link(n, n.Destination, n.Title, l)
		case *ast.Image:
			r.link(n, n.Destination, n.Title, l)
		default:
			r.inlines(n, l)
		}
	}
}

// link writes the text of a link or an image, and its target behind it as text where Telegram
// would not take it as a target.
func (r *renderer) link(n ast.Node, destination, title []byte, l look) {
	target, from, inner := unescape(destination), r.text.Len(), l
	if l.link == "" && linkable(target) {
		inner.link = target
	}
	r.inlines(n, inner)
	switch shown := r.text.String()[from:]; {
	case blank(shown):
		r.write(target, inner)
	case inner.link == l.link && target != "" && target != shown:
		r.write(" ("+target+")", l)
	}
	if len(title) > 0 {
		r.write(" ("+unescape(title)+")", l)
	}
}

// linkable says whether Telegram takes target as that of a link. It removes others silently.
func linkable(target string) bool {
	u, err := url.Parse(target)
	if err != nil || len(target) > maxURL || strings.ContainsAny(target, " \n\"<>\\") {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && strings.Contains(strings.Trim(u.Hostname(), "."), ".")
}

// unescape resolves backslashes and character references of a piece of source.
func unescape(source []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	gmhtml.DefaultWriter.Write(w, source)
	_ = w.Flush() // into memory
	return clean(html.UnescapeString(b.String()))
}

// table writes a paragraph that holds a table, with what stands in front of it and behind it,
// and says whether there is one: a line with bars, a line such as |---|--:|, and the lines with
// bars that follow. It becomes a block of code with aligned columns.
func (r *renderer) table(n ast.Node) bool {
	var lines []string
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		lines = append(lines, strings.TrimSpace(string(line.Value(r.source))))
	}
	head := 0
	for ; ; head++ {
		if head+1 >= len(lines) {
			return false
		}
		below := lines[head+1]
		if strings.Contains(lines[head], "|") && strings.Contains(below, "|") && strings.Contains(below, "-") && strings.Trim(below, "|-: \t") == "" {
			break
		}
	}
	end := head + 2
	for end < len(lines) && strings.Contains(lines[end], "|") {
		end++
	}
	if head > 0 {
		r.markdown(strings.Join(lines[:head], "\n"))
		r.newline(r.base)
	}
	r.pre(align(append(lines[head:head+1:head+1], lines[head+2:end]...)), "")
	if end < len(lines) {
		r.newline(r.base)
		r.markdown(strings.Join(lines[end:], "\n"))
	}
	return true
}

// align sets the cells of rows, the first of which is the head, in columns. A cell wider than
// maxWidth columns of the screen does not widen the others.
func align(lines []string) string {
	const maxWidth = 40
	var rows [][]string
	var widths []int
	for _, line := range lines {
		line = strings.ReplaceAll(line, `\|`, "\x00")
		row := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		for i, cell := range row {
			row[i] = strings.ReplaceAll(plainCell(cell), "\x00", "|")
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], min(ansi.StringWidth(row[i]), maxWidth))
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	for i, row := range rows {
		for j, cell := range row {
			row[j] = cell + strings.Repeat(" ", max(0, widths[j]-ansi.StringWidth(cell)))
		}
		b.WriteString(strings.TrimRight(strings.Join(row, " | "), " ") + "\n")
		if i == 0 {
			var ruler []string
			for _, width := range widths {
				ruler = append(ruler, strings.Repeat("-", width))
			}
			b.WriteString(strings.Join(ruler, "-+-") + "\n")
		}
	}
	return b.String()
}

// plainCell is the text of a cell, in which code could not be marked.
func plainCell(cell string) string {
	cell = strings.TrimSpace(cell)
	if !strings.ContainsAny(cell, "*_~`[<\\&") {
		return cell
	}
	var parts []string
	for _, m := range render(cell).split(Limit) {
		parts = append(parts, m.Text)
	}
	return strings.ReplaceAll(strings.Join(parts, " "), "\n", " ")
}
