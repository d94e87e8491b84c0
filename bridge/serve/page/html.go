package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"lethe/internal/markdown"
	"lethe/internal/screen"
)

// markup is HTML of this package. A constant becomes markup by itself, a text of somebody else does not.
type markup string

// htmlPage is HTML while it is written, for a frame.
type htmlPage struct {
	*frame
	strings.Builder
}

// put writes markup, in which verbs of package fmt stand for args. It escapes every arg but markup, so that an arg can
// stand between tags or within double quotes. What becomes part of an address passes through inURL first, but for the
// names of identities and rooms, which have no characters that an address could take for its own.
func (p *htmlPage) put(format markup, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case int, int64, float64, markup: // they have no characters to escape, or are HTML
		case string:
			args[i] = escapes.Replace(arg)
		default:
			args[i] = escapes.Replace(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(p, string(format), args...)
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;",
	"\x00", "\uFFFD")

// inURL escapes a text for the query and the fragment of an address.
func inURL(text string) string { return percent(text, "-._~") }

// address escapes an address that somebody else wrote, and keeps what structures it.
func address(text string) string { return percent(text, "-._~!#$&*+,/:;=?@[]") }

// percent escapes all bytes of a text but letters, digits and the bytes of kept. Where a '%' structures an address,
// it keeps escapes as they are.
func percent(text, kept string) string {
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		lower := c | 0x20
		isLetter := 'a' <= lower && lower <= 'z'
		isDigit := '0' <= c && c <= '9'
		_, notEscaped := url.PathUnescape(text[i:min(i+3, len(text))])
		isEscape := c == '%' && notEscaped == nil
		stays := isLetter || isDigit
		if isEscape {
			stays = strings.Contains(kept, "/")
		}
		if stays || strings.IndexByte(kept, c) >= 0 {
			out.WriteByte(c)
			continue
		}
		fmt.Fprintf(&out, "%%%02x", c)
	}
	return out.String()
}

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

// clean makes what strangers wrote visible.
func clean(text string) string { return screen.Sanitize(text) }

// The moments that a page shows, by the reader's clock.
func (p *htmlPage) clock(t time.Time) string  { return p.moment(t, "15:04") }
func (p *htmlPage) day(t time.Time) string    { return p.moment(t, "Monday, 2 January 2006") }
func (p *htmlPage) brief(t time.Time) string  { return p.moment(t, "2 Jan 15:04") }
func (p *htmlPage) minute(t time.Time) string { return p.moment(t, "2 Jan 2006 15:04") }

func (p *htmlPage) moment(t time.Time, layout string) string { return t.In(p.Clock()).Format(layout) }

// time writes a moment with its day, for people and for programs.
func (p *htmlPage) time(t time.Time) {
	p.put(`<time datetime="%s">%s, %s</time>`, stamp(t), p.day(t), p.clock(t))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// markdown writes text that somebody wrote as Markdown. HTML in it is text, an image is a link, and a heading is no
// heading of the page.
func (p *htmlPage) markdown(text string) { p.blocks(markdown.Parse(text)) }

func (p *htmlPage) blocks(blocks []markdown.Block) {
	for _, one := range blocks {
		switch one.Kind {
		case markdown.Paragraph:
			p.put("<p>")
			p.spans(one.Text)
			p.put("</p>")
		case markdown.Heading:
			p.put(`<p class="heading">`)
			p.spans(one.Text)
			p.put("</p>")
		case markdown.Code:
			p.put(`<pre tabindex="0"><code>%s</code></pre>`, one.Code)
		case markdown.Rule:
			p.put("<hr>")
		case markdown.Quote:
			p.put("<blockquote>")
			p.blocks(one.Blocks)
			p.put("</blockquote>")
		case markdown.List:
			p.list(one)
		case markdown.Item:
			p.put("<li>")
			p.blocks(one.Blocks)
			p.put("</li>")
		case markdown.Table:
			p.table(one)
		}
	}
}

func (p *htmlPage) list(one markdown.Block) {
	if one.Start == 0 {
		p.put("<ul>")
		p.blocks(one.Blocks)
		p.put("</ul>")
		return
	}
	p.put(`<ol start="%d">`, one.Start)
	p.blocks(one.Blocks)
	p.put("</ol>")
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
			p.put("<%s", tag)
			if to := one.Align[i]; to != "none" {
				p.put(` align="%s"`, to)
			}
			p.put(">")
			p.spans(cell)
			p.put("</%s>", tag)
		}
		p.put("</tr>")
	}
	p.put("</table>")
}

func (p *htmlPage) spans(spans []markdown.Span) {
	for _, span := range spans {
		if span.Link != "" {
			p.put("<a")
			if to := span.Target(); to != "" {
				p.put(` rel="noopener noreferrer nofollow" href="%s"`, address(to))
			}
			p.put(">")
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
}
