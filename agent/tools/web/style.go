package web

import (
	"golang.org/x/net/html"

	"lethe/internal/style"
)

// hidden returns the elements that the styles of a page hide.
func hidden(page *html.Node) (found []*html.Node) {
	all := style.Sheet{}
	for n := range page.Descendants() {
		if n.Data == "style" && n.FirstChild != nil && attribute(n, "media") != "print" {
			all.Read(n.FirstChild.Data)
		}
	}
	for n := range page.Descendants() {
		whole := all.Of(n.Data, attribute(n, "class"), attribute(n, "id"), attribute(n, "style"))
		if n.Type == html.ElementNode && whole.Hides() {
			found = append(found, n)
		}
	}
	return found
}

// pruneStyled takes out of a page what its styles hide, but for an element with nearly all of its text: a script shows
// that.
func pruneStyled(page *html.Node, hidden []*html.Node) {
	weights := map[*html.Node]int{}
	most := share * float64(weigh(page, weights, 1))
	for _, n := range hidden {
		if n.Parent != nil && float64(weights[n]) <= most {
			n.Parent.RemoveChild(n)
		}
	}
}
