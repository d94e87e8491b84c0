package page

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/util"

	"lethe/internal/markdown"
)

// said renders a message. HTML in it is text, an image is a link, and links leave only for the web and for mail,
// because a path would lead into this server.
func said(text string) template.HTML {
	var out writer
	out.blocks(markdown.Parse(text))
	return template.HTML(out.String())
}

// writer writes blocks as HTML.
type writer struct{ strings.Builder }

func (w *writer) blocks(blocks []markdown.Block) {
	for _, b := range blocks {
		w.block(b)
	}
}

func (w *writer) block(b markdown.Block) {
	switch b.Kind {
	case markdown.Paragraph:
		w.within("p", "", func() { w.spans(b.Text) })
	case markdown.Heading: // the page's headings are its own
		w.within("p", ` class="heading"`, func() { w.spans(b.Text) })
	case markdown.Quote:
		w.within("blockquote", "", func() { w.blocks(b.Blocks) })
	case markdown.Item:
		w.within("li", "", func() { w.blocks(b.Blocks) })
	case markdown.Code: // it scrolls, so a keyboard has to reach it
		w.within("pre", ` tabindex="0"`, func() { w.WriteString("<code>" + template.HTMLEscapeString(b.Code) + "</code>") })
	case markdown.Rule:
		w.WriteString("<hr>")
	case markdown.Table:
		w.within("table", "", func() { w.table(b) })
	case markdown.List:
		kind, start := "ul", ""
		if b.Start > 0 {
			kind, start = "ol", fmt.Sprintf(` start="%d"`, b.Start)
		}
		w.within(kind, start, func() { w.blocks(b.Blocks) })
	}
}

func (w *writer) within(tag, attributes string, content func()) {
	w.WriteString("<" + tag + attributes + ">")
	content()
	w.WriteString("</" + tag + ">")
}

func (w *writer) table(b markdown.Block) {
	for i, row := range b.Rows {
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		w.within("tr", "", func() {
			for column, spans := range row {
				align := strings.Replace(` align="`+b.Align[column]+`"`, ` align="none"`, "", 1)
				w.within(cell, align, func() { w.spans(spans) })
			}
		})
	}
}

func (w *writer) spans(spans []markdown.Span) {
	for i, s := range spans {
		if to := s.Link; to != "" && (i == 0 || spans[i-1].Link != to) {
			w.WriteString("<a" + leads(to) + ">")
		}
		text := strings.ReplaceAll(template.HTMLEscapeString(s.Text), "\n", "<br>\n")
		for _, style := range []struct {
			tag string
			on  bool
		}{{"code", s.Code}, {"del", s.Struck}, {"em", s.Italic}, {"strong", s.Bold}} {
			if style.on {
				text = "<" + style.tag + ">" + text + "</" + style.tag + ">"
			}
		}
		w.WriteString(text)
		if s.Link != "" && (i+1 == len(spans) || spans[i+1].Link != s.Link) {
			w.WriteString("</a>")
		}
	}
}

// leads are the attributes of a link to the web or to mail; another leads nowhere.
func leads(to string) string {
	to = string(util.URLEscape([]byte(to), false))
	u, err := url.Parse(to)
	web := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !web && (err != nil || u.Scheme != "mailto") {
		return ""
	}
	return ` rel="noopener noreferrer nofollow" href="` + template.HTMLEscapeString(to) + `"`
}
