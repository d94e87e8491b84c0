package markup

import (
	"bufio"
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	gmhtml "github.com/yuin/goldmark/renderer/html"
)

const (
	indent = "    "       // of what is nested in a list
	rule   = "──────────" // a thematic break
	maxURL = 2048         // bytes of a target; a longer one is shown as text
)

// renderer writes a tree as a doc.
type renderer struct {
	doc
	source []byte
	base   look   // of the block at hand: its quotation, if any
	prefix string // what each line of the block begins with
	fresh  bool   // the prefix of the present line is not written yet
	flat   bool   // no markup: the inside of a table
}

// render returns source as a doc. goldmark overlooks things in a last line without an end.
func render(source string) *doc {
	r := &renderer{source: []byte(source + "\n")}
	r.blocks(parse(r.source))
	return &r.doc
}

// blocks writes the children of parent, a blank line between those that have one in the source.
func (r *renderer) blocks(parent ast.Node) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		if prev := c.PreviousSibling(); prev != nil {
			if parent.Kind() == ast.KindDocument && prev.Kind() != ast.KindHeading && !strings.HasSuffix(r.text.String(), ":") {
				r.breaks = append(r.breaks, r.text.Len())
			}
			r.newline(r.base)
			if c.HasBlankPreviousLines() || c.Kind() == ast.KindParagraph && !touches(prev) {
				r.newline(r.base)
			}
		}
		r.block(c)
	}
}

// touches says whether a paragraph can follow a block without a blank line. goldmark does not see
// blank lines in quotations.
func touches(n ast.Node) bool {
	return n.Kind() != ast.KindParagraph && n.Kind() != ast.KindBlockquote && n.Kind() != ast.KindList
}

func (r *renderer) newline(l look) {
	r.put("\n", l)
	r.fresh = true
}

// write writes text into a line, and the prefix in front of it, once.
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
	case *ast.Blockquote:
		r.quote(n)
	case *ast.FencedCodeBlock:
		r.fence(n)
	case *ast.CodeBlock:
		r.pre(string(n.Lines().Value(r.source)), "")
	case *east.Table:
		r.table(n)
	case *ast.ThematicBreak:
		r.write(rule, r.base)
	case *ast.Heading:
		if n.FirstChild() == nil {
			r.write(strings.Repeat("#", n.Level), r.base)
		}
		l := r.base
		l.bold = true
		r.inlines(n, l)
	default: // *ast.Paragraph, *ast.TextBlock
		r.inlines(n, r.base)
	}
}

func (r *renderer) item(n *ast.ListItem) {
	v, _ := n.AttributeString("marker")
	marker, _ := v.(string)
	first := n.FirstChild()
	if first != nil && (marker == "-" || marker == "*") {
		marker = "•"
		if first.FirstChild() != nil && first.FirstChild().Kind() == east.KindTaskCheckBox {
			marker = ""
		}
	}
	if marker != "" && first != nil {
		marker += " "
	}
	r.write(marker, r.base)
	outer := r.prefix
	r.prefix += indent
	r.blocks(n)
	r.prefix = outer
}

// quote writes a quotation. Telegram has no quotation inside another; the inner one keeps its
// mark instead.
func (r *renderer) quote(n *ast.Blockquote) {
	outer, base := r.prefix, r.base
	switch {
	case n.FirstChild() == nil:
		r.write(">", r.base)
	case r.base.quote:
		r.write("> ", r.base)
		r.prefix += "> "
	}
	r.base.quote = true
	r.blocks(n)
	r.prefix, r.base = outer, base
}

// fence writes a code block. The first word behind the fence is its language; if more follows,
// such as a name of a file, all of it is a line of its own.
func (r *renderer) fence(n *ast.FencedCodeBlock) {
	info := ""
	if n.Info != nil {
		info = unescape(n.Info.Segment.Value(r.source))
	}
	lang, rest, _ := strings.Cut(info, " ")
	code := string(n.Lines().Value(r.source))
	if blank(code) {
		r.write("```"+info, r.base)
		r.newline(r.base)
		r.write("```", r.base)
		return
	}
	if len(lang) > 64 {
		lang, rest = "", info // of which no client knows how to show it
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		r.write(info, r.base)
		r.newline(r.base)
	}
	r.pre(code, lang)
}

// pre writes a block of code, in front of which no prefix stands.
func (r *renderer) pre(code, lang string) {
	l := look{quote: r.base.quote, pre: true, lang: lang}
	r.fresh = false
	r.put(strings.TrimRight(code, " \t\n"), l)
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
		case *ast.String:
			r.write(string(n.Value), l)
		case *ast.CodeSpan:
			inner.code = !r.flat
			r.inlines(n, inner)
		case *ast.Emphasis:
			inner.bold, inner.italic = l.bold || n.Level == 2, l.italic || n.Level == 1
			r.inlines(n, inner)
		case *east.Strikethrough:
			inner.struck = true
			r.inlines(n, inner)
		case *east.TaskCheckBox:
			r.write(map[bool]string{false: "☐ ", true: "☑ "}[n.IsChecked], l)
		case *ast.AutoLink:
			// Telegram finds addresses itself; what only looks like one stays as it is.
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

// link writes the text of a link or an image, and its target behind it as text unless Telegram
// would take it as a target.
func (r *renderer) link(n ast.Node, destination, title []byte, l look) {
	target, from, inner := unescape(destination), r.text.Len(), l
	if l.link == "" && !r.flat && linkable(target) {
		inner.link = target
	}
	r.inlines(n, inner)
	text := r.text.String()[from:]
	switch {
	case blank(text):
		r.write(target, inner)
	case inner.link == l.link && target != "" && target != text:
		r.write(" ("+target+")", l)
	}
	if len(title) > 0 {
		r.write(" ("+unescape(title)+")", l)
	}
}

// linkable says whether Telegram takes target for a link; from one that it does not take, it
// removes the target in silence. It knows no host without a dot, and makes of mailto: a web
// address; addresses of mail that stand in the text it finds itself.
func linkable(target string) bool {
	u, err := url.Parse(target)
	if err != nil || len(target) > maxURL || strings.ContainsAny(target, " \n\"<>\\") || u.Opaque != "" {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		host := u.Hostname()
		return strings.Contains(strings.Trim(host, "."), ".") || strings.Contains(host, ":")
	case "tg":
		return u.Host != "" && u.Host != "user" && !strings.ContainsAny(u.Host, ".:@")
	}
	return false
}

// unescape resolves backslashes and character references of a piece of source.
func unescape(source []byte) string {
	if !strings.ContainsAny(string(source), "\\&") {
		return string(source)
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	gmhtml.DefaultWriter.Write(w, source)
	_ = w.Flush() // into memory
	return clean(html.UnescapeString(b.String()))
}
