package markup

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

const (
	indent = "    "       // of what is nested in a list
	rule   = "──────────" // a thematic break
)

// renderer writes a tree as text and looks.
type renderer struct {
	builder
	source []byte
	base   look   // of the block at hand: its quotation, if any
	quotes int    // depth of quotations; only the outermost is an entity
	prefix string // what each line of the block begins with
	begun  bool   // the prefix of the present line is written
	flat   bool   // no entities: the inside of a table
	codes  int    // code spans so far

	lines []line // of the paragraph at hand
	at    int    // the line of it being written
}

// line is how a source line of a paragraph stands to the block that holds it.
type line struct {
	indent int  // columns further in than the first
	lazy   bool // written at the margin: not part of the list or quotation above it
}

// render returns source as text with spans. goldmark overlooks things in a last line without
// an end.
func render(source string) doc {
	r := &renderer{source: []byte(source + "\n")}
	r.blocks(parse(r.source))
	return r.doc()
}

// blocks writes the children of parent, a blank line between those that have one in the source.
func (r *renderer) blocks(parent ast.Node) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		if c != parent.FirstChild() {
			r.put("\n", r.base)
			if r.apart(c) {
				r.put("\n", r.base)
			}
			r.begun = false
		}
		r.block(c)
	}
}

// apart says whether a blank line stands before a block. In quotations goldmark does not know:
// there the line has a mark.
func (r *renderer) apart(n ast.Node) bool {
	if n.HasBlankPreviousLines() || r.quotes == 0 {
		return n.HasBlankPreviousLines()
	}
	up := 0 // lines between the first of the block and the first that is known
	for n.Type() == ast.TypeBlock && n.Lines().Len() == 0 && n.FirstChild() != nil {
		n = n.FirstChild()
	}
	if n.Kind() == ast.KindFencedCodeBlock {
		up = 1
	}
	if n.Lines().Len() == 0 {
		return false
	}
	head := r.source[:n.Lines().At(0).Start]
	for ; up >= 0; up-- {
		head = head[:max(0, bytes.LastIndexByte(head, '\n'))]
	}
	before := head[bytes.LastIndexByte(head, '\n')+1:]
	return len(bytes.Trim(before, "> \t")) == 0
}

// begin writes the prefix of a line, once.
func (r *renderer) begin() {
	if !r.begun {
		r.put(r.prefix, r.base)
		r.begun = true
	}
}

func (r *renderer) block(node ast.Node) {
	switch n := node.(type) {
	case *ast.List:
		r.blocks(n)
	case *ast.ListItem:
		r.item(n)
	case *ast.Blockquote:
		r.quote(n)
	case *ast.FencedCodeBlock:
		r.fence(n)
	case *ast.CodeBlock:
		r.indented(n)
	case *east.Table:
		r.table(n)
	case *ast.ThematicBreak:
		r.begin()
		r.put(rule, r.base)
	case *ast.Heading:
		r.heading(n)
	default: // *ast.Paragraph, *ast.TextBlock
		r.paragraph(n)
	}
}

func (r *renderer) item(n *ast.ListItem) {
	r.begin()
	marker, box := attribute(n, "marker"), attribute(n, "box")
	bullet := marker == "-" || marker == "*"
	switch {
	case n.FirstChild() == nil:
		r.put(marker, r.base)
		return
	case bullet && box != "":
		r.put(box+" ", r.base)
	case bullet:
		r.put("• ", r.base)
	default:
		r.put(marker+" ", r.base)
		if box != "" {
			r.put(box+" ", r.base)
		}
	}
	outer := r.prefix
	r.prefix += indent
	r.blocks(n)
	r.prefix = outer
}

// quote writes a quotation. Telegram has no quotation inside another; the inner one keeps its
// mark instead.
func (r *renderer) quote(n *ast.Blockquote) {
	r.begin()
	outer, base := r.prefix, r.base
	switch {
	case n.FirstChild() == nil:
		r.put(">", r.base)
		return
	case r.quotes == 0:
		r.base.quote = len(r.text) + 1 // any number that was not used before
	default:
		r.put("> ", r.base)
		r.prefix += "> "
	}
	r.quotes++
	r.blocks(n)
	r.quotes--
	r.prefix, r.base = outer, base
}

func (r *renderer) heading(n *ast.Heading) {
	r.begin()
	if n.FirstChild() == nil {
		r.put(strings.Repeat("#", n.Level), r.base)
		return
	}
	r.lines, r.at = nil, 0
	l := r.base
	l.style |= bold
	r.inlines(n, l)
}

// fence writes a code block. One without a visible character cannot be an entity and is shown
// as it is written.
func (r *renderer) fence(n *ast.FencedCodeBlock) {
	info := ""
	if n.Info != nil {
		info = unescape(n.Info.Segment.Value(r.source))
	}
	lang, _, _ := strings.Cut(info, " ")
	code := dedent(expand(r.raw(n)))
	if blank(code) {
		r.begin()
		r.put("```"+info+"\n```", r.base)
		return
	}
	r.begun = true // no prefix: what stands before a block is not part of it
	r.langs = append(r.langs, lang)
	l := r.base
	l.pre = len(r.langs)
	r.put(code, l)
}

// indented writes lines that CommonMark takes for code because they are indented. In a chat
// they seldom are; they stay as they are written, markup and all.
func (r *renderer) indented(n *ast.CodeBlock) {
	for i, text := range strings.Split(strings.TrimRight(expand(r.raw(n)), blanks), "\n") {
		if i > 0 {
			r.put("\n", r.base)
			r.begun = false
		}
		r.begin()
		r.put(strings.TrimRight(indent+text, " "), r.base)
	}
}

// raw returns the lines of a code block.
func (r *renderer) raw(n ast.Node) string {
	var b bytes.Buffer
	for _, s := range n.Lines().Sliced(0, n.Lines().Len()) {
		b.Write(s.Value(r.source))
	}
	return b.String()
}

func (r *renderer) paragraph(n ast.Node) {
	r.begin()
	r.lines, r.at = r.measure(n), 0
	if len(r.lines) > 0 {
		r.put(strings.Repeat(" ", r.lines[0].indent), r.base)
	}
	r.inlines(n, r.base)
}

// measure finds how far each line of a paragraph stands from where its first one begins, or
// from the margin if the paragraph is part of nothing.
func (r *renderer) measure(n ast.Node) []line {
	held := n.Parent() != nil && n.Parent().Kind() != ast.KindDocument
	margin := 0
	var out []line
	for i, s := range n.Lines().Sliced(0, n.Lines().Len()) {
		head := r.source[bytes.LastIndexByte(r.source[:s.Start], '\n')+1 : s.Start]
		column := columns(string(head))
		if i == 0 && held {
			margin = column
		}
		lazy := i > 0 && (r.quotes > 0 && bytes.IndexByte(head, '>') < 0 || margin > 0 && column == 0)
		out = append(out, line{max(0, min(column-margin, 64)), lazy})
	}
	return out
}

// newline begins the next line of a paragraph.
func (r *renderer) newline(l look) {
	r.at++
	var next line
	if r.at < len(r.lines) {
		next = r.lines[r.at]
	}
	if next.lazy {
		l.quote = 0
		r.put("\n"+strings.Repeat(" ", next.indent), l)
		return
	}
	r.put("\n"+r.prefix+strings.Repeat(" ", next.indent), l)
}

// here adapts a look to the present line: one outside of the quotation has none.
func (r *renderer) here(l look) look {
	if r.at < len(r.lines) && r.lines[r.at].lazy {
		l.quote = 0
	}
	return l
}

// dedent removes the indentation that all lines of code share, and blank lines at its ends.
func dedent(code string) string {
	code = strings.TrimRight(code, blanks)
	for {
		first, rest, more := strings.Cut(code, "\n")
		if !more || !blank(first) {
			break
		}
		code = rest
	}
	lines := strings.Split(code, "\n")
	shared := len(code)
	for _, l := range lines {
		if !blank(l) {
			shared = min(shared, len(l)-len(strings.TrimLeft(l, " ")))
		}
	}
	for i, l := range lines {
		lines[i] = l[min(shared, len(l)-len(strings.TrimLeft(l, " "))):]
	}
	return strings.Join(lines, "\n")
}

// expand replaces tabs, which Telegram would show as one space, by spaces up to the next
// multiple of four columns.
func expand(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			n := 4 - column%4
			b.WriteString(indent[:n])
			column += n
		case '\n':
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// columns returns the width of what stands before a text in its line.
func columns(head string) int {
	return utf8.RuneCountInString(expand(head))
}
