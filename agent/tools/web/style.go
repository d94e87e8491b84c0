package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"lethe/internal/pattern"
	"lethe/internal/worker"
)

// style holds declarations, by their properties in small letters.
type style map[string]string

var (
	// unseen matches the declaration of an element that is not shown.
	unseen = pattern.Lazy(`(?i)^(?:display:\s*none|visibility:\s*(?:hidden|collapse)|` +
		`(?:font-size|max-height|max-width):\s*0(?:\.0*)?\s*(?:[a-z]+|%)?\s*(?:!|$)|` +
		`(?:left|right|top|bottom|text-indent):\s*-\d{3,})`)
	// transparent matches the value of opacity of an element that nobody sees, unless it fades in.
	transparent = pattern.Lazy(`^\s*(?:0|0?\.0+)%?\s*(?:!|$)`)
	// besideRules matches comments, and rules for prints, small screens and the like.
	besideRules = pattern.Lazy(`(?s)/\*.*?\*/|@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})`)
	rule        = pattern.Lazy(`([^{}]+)\{([^{}]*)\}`)
)

func (s style) declare(text string) {
	for one := range strings.SplitSeq(text, ";") {
		if name, value, found := strings.Cut(one, ":"); found {
			s[strings.ToLower(strings.TrimSpace(name))] = value
		}
	}
}

func styleOf(n *html.Node) style {
	s := style{}
	s.declare(attribute(n, "style"))
	return s
}

// hides reports whether nobody sees an element of the style.
func (s style) hides() bool {
	for name, value := range s {
		if unseen().MatchString(name + ":" + value) {
			return true
		}
	}
	fades := s["transition"]+s["transform"]+s["animation"] != ""
	return !fades && transparent().MatchString(s["opacity"])
}

// sheet holds the styles of a page's style elements, by selectors: those of a tag, a class or an id are understood.
type sheet map[string]style

func sheetOf(page *html.Node) sheet {
	all := sheet{}
	for n := range page.Descendants() {
		isSheet := n.Data == "style" && n.FirstChild != nil && attribute(n, "media") != "print"
		if !isSheet {
			continue
		}
		for _, found := range rule().FindAllStringSubmatch(besideRules().ReplaceAllString(n.FirstChild.Data, ""), -1) {
			for selector := range strings.SplitSeq(found[1], ",") {
				selector = strings.TrimSpace(selector)
				if all[selector] == nil {
					all[selector] = style{}
				}
				all[selector].declare(found[2])
			}
		}
	}
	return all
}

// of returns the style of an element.
func (all sheet) of(n *html.Node) style {
	names := []string{""}
	for class := range strings.FieldsSeq(attribute(n, "class")) {
		names = append(names, "."+class)
	}
	names = append(names, "#"+attribute(n, "id"))
	whole := style{}
	for _, name := range names {
		maps.Copy(whole, all[name])
		maps.Copy(whole, all[n.Data+name])
	}
	maps.Copy(whole, styleOf(n))
	return whole
}

// hidden returns the elements of a page that the sheet hides. One with nearly all of the sentences is none of them: a
// script shows it.
func (all sheet) hidden(page *html.Node) (found []*html.Node) {
	weights := map[*html.Node]int{}
	most := share * float64(weigh(page, weights))
	for n := range page.Descendants() {
		isHidden := n.Type == html.ElementNode && all.of(n).hides()
		if isHidden && float64(weights[n]) <= most {
			found = append(found, n)
		}
	}
	return found
}

// Hidden returns the lines of an HTML file, from 1, at which text begins that readers of the page do not see.
func Hidden(ctx context.Context, page []byte) ([]string, error) {
	lines, err := worker.Run(ctx, "hidden", page)
	return strings.Fields(string(lines)), err
}

func init() { worker.Register("hidden", findHidden) }

// findHidden is what the worker of Hidden runs.
func findHidden(in io.Reader, out io.Writer) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	page, err := html.Parse(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	found := sheetOf(page).hidden(page)
	for n := range page.Descendants() {
		if hides(n) {
			found = append(found, n)
		}
	}
	var lines []int
	for _, element := range found {
		for n := range element.Descendants() {
			begins, _, _ := strings.Cut(strings.TrimSpace(n.Data), "\n")
			isText := n.Type == html.TextNode && begins != ""
			if at := bytes.Index(raw, []byte(begins)); isText && at >= 0 {
				lines = append(lines, 1+bytes.Count(raw[:at], []byte("\n")))
				break
			}
		}
	}
	slices.Sort(lines)
	_, err = fmt.Fprintln(out, strings.Trim(fmt.Sprint(slices.Compact(lines)), "[]"))
	return err
}
