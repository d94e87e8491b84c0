package markup

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// inlines writes the inline children of a node in the given look.
func (r *renderer) inlines(parent ast.Node, l look) {
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		switch n := c.(type) {
		case *ast.Text:
			if n.IsRaw() {
				r.literal(string(n.Segment.Value(r.source)), l)
			} else {
				r.put(unescape(n.Segment.Value(r.source)), r.here(l))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				r.newline(l)
			}
		case *ast.CodeSpan:
			r.code(n, l)
		case *ast.AutoLink:
			r.autolink(n, l)
		case *ast.RawHTML:
			for _, s := range n.Segments.Sliced(0, n.Segments.Len()) {
				r.literal(string(s.Value(r.source)), l)
			}
		case *ast.Link:
			r.link(n, n.Destination, n.Title, l)
		case *ast.Image:
			r.link(n, n.Destination, n.Title, l)
		case *span:
			inner := l
			inner.style |= n.style()
			r.inlines(n, inner)
		default:
			r.inlines(n, l)
		}
	}
}

// literal writes source text as it stands.
func (r *renderer) literal(s string, l look) {
	for {
		text, rest, more := strings.Cut(s, "\n")
		r.put(expand(text), r.here(l))
		if !more {
			return
		}
		r.newline(l)
		s = rest
	}
}

// code writes a code span. In a link it is part of the link: one entity cannot be both.
func (r *renderer) code(n *ast.CodeSpan, l look) {
	from, runs, line := len(r.text), len(r.runs), r.at
	inner := l
	if l.link == 0 && !r.flat {
		r.codes++
		inner.code = r.codes
	}
	r.inlines(n, inner)
	if text := string(r.text[from:]); blank(text) {
		r.back(from, runs)
		r.at = line
		r.put("`", r.here(l))
		r.inlines(n, l)
		r.put("`", r.here(l))
	} else if r.flat {
		r.back(from, runs)
		r.put(strings.ReplaceAll(text, `\|`, "|"), l)
	}
}

// autolink writes <https://…> without its brackets, for Telegram finds addresses itself, and
// anything else that looks like it, such as <std::string>, as it stands.
func (r *renderer) autolink(n *ast.AutoLink, l look) {
	label := string(n.Label(r.source))
	if checkURL(label) != nil {
		label = "<" + label + ">"
	}
	r.put(label, r.here(l))
}

// link writes the text of a link or an image, and its target as an entity, or behind it as text
// if Telegram would not take it.
func (r *renderer) link(n ast.Node, destination, title []byte, l look) {
	from := len(r.text)
	url := unescape(destination)
	inner := l
	if l.link == 0 && !r.flat && checkURL(url) == nil {
		r.urls = append(r.urls, url)
		inner.link = len(r.urls)
	}
	r.inlines(n, inner)
	text := string(r.text[from:])
	switch {
	case blank(text):
		r.put(url, r.here(inner))
	case inner.link == l.link && url != "" && url != text && url != "mailto:"+text:
		r.put(" ("+url+")", r.here(l))
	}
	if len(title) > 0 {
		r.put(" ("+unescape(title)+")", r.here(l))
	}
}

// back takes back what was written since the text and the runs were so long.
func (r *renderer) back(text, runs int) {
	r.text, r.runs = r.text[:text], r.runs[:runs]
	if runs > 0 {
		r.runs[runs-1].end = text
	}
}

// unescape resolves backslashes and character references of a piece of source. Backslashes of
// a path such as C:\me\.ssh or \\server\share stay.
func unescape(source []byte) string {
	s := string(source)
	if !strings.ContainsAny(s, "\\&\t") {
		return s
	}
	var b strings.Builder
	path := false
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			path = false
		case i == 0 || strings.IndexByte(" \t(\"'", s[i-1]) >= 0:
			path = isPath(s[i:])
		}
		switch c := s[i]; {
		case c == '\\' && !path && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
			continue
		case c == '&':
			if text, n := reference(s[i:]); n > 0 {
				b.WriteString(text)
				i += n
				continue
			}
		case c == '\t':
			b.WriteString(indent)
			i++
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// isPath says whether s begins like a path of Windows.
func isPath(s string) bool {
	letter := func(i int) bool { return len(s) > i && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') }
	return letter(0) && strings.HasPrefix(s[1:], `:\`) || strings.HasPrefix(s, `\\`) && letter(2)
}

// reference resolves a character reference at the start of s, such as &amp; or &#8211;, and
// returns how long it is; 0 if there is none.
func reference(s string) (string, int) {
	i := strings.IndexByte(s[:min(len(s), 34)], ';')
	if i < 2 || strings.ContainsAny(s[1:i], "& \t\n") || s[1] == '#' && i > 9 {
		return "", 0
	}
	text := html.UnescapeString(s[:i+1])
	if strings.HasSuffix(text, ";") && text != ";" { // unknown, or known only without what follows
		return "", 0
	}
	return clean(text), i + 1
}
