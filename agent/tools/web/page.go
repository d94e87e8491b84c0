package web

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"lethe/internal/pattern"
	"lethe/internal/style"
	"lethe/internal/worker"
)

func init() { worker.Register("page", parse) }

// newConverter returns what makes Markdown of a page, with tables and strokes.
func newConverter() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin(),
	))
}

// inline are pictures that stand in the page themselves.
var inline = pattern.Lazy(`!\[[^\]]*\]\(data:[^)]*\)`)

// parse is what the worker runs: from the type, the address and the page, a line each, to a line with the title, one
// with the date, and the text.
func parse(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	kind, _ := lines.ReadString('\n')
	address, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	at, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(lines)
	if err != nil {
		return err
	}
	page, err := html.Parse(strings.NewReader(decode(strings.TrimSpace(kind), raw)))
	if err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	title, date := about(page)
	text, err := newConverter().ConvertNode(mainPart(page), converter.WithDomain(at.String()))
	if err != nil {
		return err
	}
	text = bytes.ToValidUTF8(inline().ReplaceAll(text, nil), nil)
	_, err = fmt.Fprintf(out, "%s\n%s\n%s\n", strings.Join(strings.Fields(title), " "), date, bytes.TrimSpace(text))
	return err
}

func attribute(n *html.Node, key string) string {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return n.Attr[i].Val
}

// published are names under which pages tell their day.
var published = []string{"article:published_time", "datePublished", "date"}

// about returns the title of a page, and the day on which it was published, like 2026-01-31; "" where it says neither.
func about(page *html.Node) (title, day string) {
	for n := range page.Descendants() {
		if n.Data == "title" && n.FirstChild != nil && title == "" {
			title = n.FirstChild.Data
		}
		name := cmp.Or(attribute(n, "property"), attribute(n, "itemprop"), attribute(n, "name"))
		if said := cmp.Or(attribute(n, "content"), attribute(n, "datetime")); slices.Contains(published, name) && day == "" {
			day = said[:min(len(said), len(time.DateOnly))]
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				day = ""
			}
		}
	}
	return title, day
}

// What a page has beside its text, by elements and by roles, and the elements that are not opened in search of the
// text.
var (
	besides = strings.Fields("script style noscript template svg iframe nav header footer aside button select textarea dialog")
	roles   = strings.Fields("navigation banner contentinfo complementary search dialog menu")
	blocks  = strings.Fields("p li td pre blockquote table tbody tr ul ol")
)

// marks stand before raised and lowered text, which plain text cannot show: 10^6.
var marks = map[string]string{"sup": "^", "sub": "_"}

// hides reports whether an element says itself that it is not shown.
func hides(n *html.Node) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }) ||
		attribute(n, "aria-hidden") == "true" || style.Of(attribute(n, "style")).Hides()
}

// prune takes out of a page the parts that nobody reads, and marks raised and lowered text.
func prune(n *html.Node) {
	for _, c := range slices.Collect(n.ChildNodes()) {
		beside := c.Type == html.ElementNode && slices.Contains(besides, c.Data) || slices.Contains(roles, attribute(c, "role"))
		if hides(c) || beside {
			n.RemoveChild(c)
			continue
		}
		if mark := marks[c.Data]; mark != "" && c.Type == html.ElementNode {
			c.InsertBefore(&html.Node{Type: html.TextNode, Data: mark}, c.FirstChild)
		}
		prune(c)
		if c.Data == "ol" {
			number(c)
		}
	}
}

// number lets a list begin at its first entry's own number, and writes letters before entries: Markdown would count 1, 2.
func number(list *html.Node) {
	at, letters := 'a', attribute(list, "type")+attribute(list, "start") == "a"
	if letters {
		list.Data = "ul"
	}
	for item := range list.ChildNodes() {
		if item.Data != "li" {
			continue
		}
		if at == 'a' {
			list.Attr = append(list.Attr, html.Attribute{Key: "start", Val: attribute(item, "value")})
		}
		if letters {
			item.InsertBefore(&html.Node{Type: html.TextNode, Data: fmt.Sprintf("(%c) ", at)}, item.FirstChild)
		}
		at++
	}
}

// Of the text of an element so much has to lie in one of the elements in it for that to be opened.
const share = 0.8

// sentence is the least size of a text that counts, in bytes: menus and lists of links have shorter ones.
const sentence = 80

// weigh finds how many bytes of texts of a least size there are in each part of a page, without links.
func weigh(n *html.Node, weights map[*html.Node]int, least int) int {
	if text := strings.TrimSpace(n.Data); n.Type == html.TextNode && len(text) >= least {
		weights[n] = len(text)
	}
	for c := range n.ChildNodes() {
		if c.Data != "a" {
			weights[n] += weigh(c, weights, least)
		}
	}
	return weights[n]
}

// mainPart returns the part of a page to read: the smallest one with nearly all of its sentences.
func mainPart(page *html.Node) *html.Node {
	styled := hidden(page)
	prune(page)
	pruneStyled(page, styled)
	weights := map[*html.Node]int{}
	for weight := weigh(page, weights, sentence); ; weight = weights[page] {
		heaviest := page
		for c := range page.ChildNodes() {
			if weights[c] > weights[heaviest] || heaviest == page {
				heaviest = c
			}
		}
		if heaviest == page || heaviest.Type != html.ElementNode {
			return page
		}
		heavy := weight > 0 && float64(weights[heaviest]) >= share*float64(weight)
		if !heavy || slices.Contains(blocks, heaviest.Data) {
			return page
		}
		page = heaviest
	}
}
