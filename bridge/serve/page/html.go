package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"
	"lethe/bridge/report"
	"lethe/chat"

	"lethe/internal/markdown"
	"lethe/internal/screen"
)

// markup is HTML of this package. A constant becomes markup by itself, a text of somebody else does not.
type markup string

// exact is a text that comes back from a form as it was.
type exact string

// htmlPage is HTML while it is written, for a frame.
type htmlPage struct {
	*frame
	strings.Builder
}

// put writes formatted markup.
func (p *htmlPage) put(text markup, args ...any) { p.WriteString(string(format(text, args...))) }

// format returns markup, in which verbs of package fmt stand for args. It escapes every arg but markup, so that an arg
// can stand between tags or within double quotes, and makes control characters visible in all but exact ones. What
// becomes part of an address passes through inURL first, but for the names of identities and rooms, which have no
// characters that an address could take for its own.
func format(text markup, args ...any) markup {
	for i, arg := range args {
		switch arg := arg.(type) {
		case int, int64, float64, markup: // they have no characters to escape, or are HTML
		case string:
			args[i] = escapes.Replace(screen.Sanitize(arg))
		case exact:
			args[i] = escapes.Replace(string(arg))
		default:
			args[i] = escapes.Replace(screen.Sanitize(fmt.Sprint(arg)))
		}
	}
	return markup(fmt.Sprintf(string(text), args...))
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;",
	"\x00", "\uFFFD")

// inURL escapes a text for the query and the fragment of an address.
func inURL(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// address escapes an address that somebody else wrote, and keeps what structures it.
func address(text string) string { return string(util.URLEscape([]byte(text), false)) }

// when returns markup where something holds, and else "".
func when(holds bool, then markup) markup {
	if holds {
		return then
	}
	return ""
}

// counted returns the word for one or for several.
func counted(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// The moments that a page shows, by the reader's clock.
const (
	clock  = "15:04"
	day    = "Monday, 2 January 2006"
	minute = "2 Jan 2006 15:04"
)

func (p *htmlPage) moment(t time.Time, layout string) string { return t.In(p.Clock()).Format(layout) }

// time is a moment with its day, for people and for programs.
func (p *htmlPage) time(t time.Time) markup {
	return format(`<time datetime="%s">%s, %s</time>`, stamp(t), p.moment(t, day), p.moment(t, clock))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// formatted is text that somebody wrote as Markdown. HTML in it is text, an image is a link, and a heading is no
// heading of the page.
func formatted(text string) markup { return blocksOf(markdown.Parse(text)) }

func blocksOf(blocks []markdown.Block) markup {
	var p htmlPage
	for _, one := range blocks {
		switch one.Kind {
		case markdown.Paragraph:
			p.put("<p>%s</p>", spansOf(one.Text))
		case markdown.Heading:
			p.put(`<p class="heading">%s</p>`, spansOf(one.Text))
		case markdown.Code:
			p.put(`<pre tabindex="0"><code>%s</code></pre>`, one.Code)
		case markdown.Rule:
			p.put("<hr>")
		case markdown.Quote:
			p.put("<blockquote>%s</blockquote>", blocksOf(one.Blocks))
		case markdown.List:
			p.list(one)
		case markdown.Item:
			p.put("<li>%s</li>", blocksOf(one.Blocks))
		case markdown.Table:
			p.table(one)
		}
	}
	return markup(p.String())
}

func (p *htmlPage) list(one markdown.Block) {
	if one.Start == 0 {
		p.put("<ul>%s</ul>", blocksOf(one.Blocks))
	} else {
		p.put(`<ol start="%d">%s</ol>`, one.Start, blocksOf(one.Blocks))
	}
}

func (p *htmlPage) table(one markdown.Block) {
	p.put("<table>")
	for row, cells := range one.Rows {
		tag := markup("td")
		if row == 0 {
			tag = "th"
		}
		p.put("<tr>")
		for i, cell := range cells {
			aligned := when(one.Align[i] != "none", format(` align="%s"`, one.Align[i]))
			p.put("<%s%s>%s</%[1]s>", tag, aligned, spansOf(cell))
		}
		p.put("</tr>")
	}
	p.put("</table>")
}

func spansOf(spans []markdown.Span) markup {
	var p htmlPage
	for _, span := range spans {
		if span.Link != "" {
			to := span.Target()
			leads := format(` rel="noopener noreferrer nofollow" href="%s"`, address(to))
			p.put("<a%s>", when(to != "", leads))
		}
		p.put("%s%s", when(span.Bold, "<strong>"), when(span.Italic, "<em>"))
		p.put("%s%s", when(span.Struck, "<del>"), when(span.Code, "<code>"))
		for i, line := range strings.Split(span.Text, "\n") {
			p.put("%s%s", when(i > 0, "<br>\n"), line)
		}
		p.put("%s%s", when(span.Code, "</code>"), when(span.Struck, "</del>"))
		p.put("%s%s", when(span.Italic, "</em>"), when(span.Bold, "</strong>"))
		p.put("%s", when(span.Link != "", "</a>"))
	}
	return markup(p.String())
}

// gist is a line of a room in few words: a question or an answer without its id, files without their hashes.
func gist(s *report.Said) string {
	_, text := chat.Cited(s.Text)
	if q, ok := chat.ParseQuestion(s.Text); ok && s.Agent {
		text = q.Text
	}
	return short(160, unhashed(text))
}

// short cuts a text to at most n bytes, between runes.
func short(n int, s string) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
