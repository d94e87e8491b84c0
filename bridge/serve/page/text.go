package page

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

var words = template.FuncMap{
	"clean": chat.Sanitize, "markdown": markdown, "count": count, "dollars": dollars, "short": short, "why": why, "share": share, "part": part100, "linked": linked, "entries": entries, "version": version,
	"clock":  func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("15:04") },
	"day":    func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("Monday, 2 January 2006") },
	"brief":  func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("2 Jan 15:04") },
	"moment": func(f *frame, t time.Time) string { return t.In(f.Clock()).Format("2 Jan 2006 15:04") },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}

// count writes a number of tokens or bytes as people say it: 950, 1.2k, 18k, 1.2M.
func count(n any) string {
	switch v := reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float(); {
	case v < 1000:
		return fmt.Sprint(n)
	case v < 9950:
		return fmt.Sprintf("%.1fk", v/1000)
	case v < 999_500:
		return fmt.Sprintf("%.0fk", v/1000)
	default:
		return fmt.Sprintf("%.1fM", v/1e6)
	}
}

func dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// entries names those from one to another.
func entries(from, to int) string {
	if from == to {
		return mind.EntryID(from)
	}
	return event.Entries{From: from, To: to}.String()
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

// maxMarkdown is the longest text, in bytes, that is parsed: what is longer is shown as it is. Parsers of Markdown
// take a time that grows with the square of some texts.
const maxMarkdown = 16 << 10

// markdown renders a message. HTML in it is text, an image is a link, and links leave only
// for the web and for mail, because a path would lead into this server.
func markdown(s string) template.HTML {
	s = chat.Sanitize(s)
	var out bytes.Buffer
	if len(s) > maxMarkdown || converter().Convert([]byte(s), &out) != nil {
		return template.HTML(`<p class="raw">` + template.HTMLEscapeString(s) + `</p>`)
	}
	return template.HTML(strings.ReplaceAll(out.String(), "<pre>", `<pre tabindex="0">`)) // it scrolls, so a keyboard has to reach it
}

var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
			parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		)),
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.Linkify),
		goldmark.WithRendererOptions(gmhtml.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(plain{}, 1))),
	)
})

func without(all []util.PrioritizedValue, one any) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(p util.PrioritizedValue) bool { return p.Value == one })
}

// plain renders what a stranger could abuse.
type plain struct{}

func (plain) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		return link(w, n.(*ast.Link).Destination, enter)
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		return link(w, n.(*ast.Image).Destination, enter)
	})
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		_, err := w.WriteString(map[bool]string{true: `<p class="heading">`, false: "</p>\n"}[enter]) // the page's headings are its own
		return ast.WalkContinue, err
	})
	r.Register(ast.KindAutoLink, func(w util.BufWriter, src []byte, n ast.Node, enter bool) (ast.WalkStatus, error) {
		a := n.(*ast.AutoLink)
		if !enter {
			return ast.WalkContinue, nil
		}
		_, _ = link(w, a.URL(src), true)
		_, _ = w.WriteString(template.HTMLEscapeString(string(a.Label(src))))
		return link(w, nil, false)
	})
}

// leaves says whether a link leads to the web or to mail.
func leaves(to []byte) bool {
	u, err := url.Parse(string(to))
	return err == nil && (u.Scheme == "mailto" || u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"))
}

func link(w util.BufWriter, to []byte, enter bool) (ast.WalkStatus, error) {
	open := "<a>"
	if to = util.URLEscape(to, true); leaves(to) {
		open = `<a rel="noopener noreferrer nofollow" href="` + template.HTMLEscapeString(string(to)) + `">`
	}
	_, err := w.WriteString(map[bool]string{true: open, false: "</a>"}[enter])
	return ast.WalkContinue, err
}
