package bench

import (
	"fmt"
	"strings"
)

// style suits light and dark screens; a line's class is its column.
const style = `<style>text{font:12px sans-serif;fill:#555}path{fill:none;stroke-width:2}.axis{stroke:#888;stroke-width:1}.lethe{stroke:#2a78c8}.against{stroke:#c8642a}.six{stroke:#888}
text.lethe,text.against,text.six{stroke:none}text.lethe{fill:#2a78c8}text.against{fill:#c8642a}@media(prefers-color-scheme:dark){text,text.six{fill:#bbb}.lethe{stroke:#6db3ff}text.lethe{fill:#6db3ff}}</style>`

// Plot is an SVG: time and memory of a round as a context grows, and the start as a life does.
func (r *Report) Plot() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="930" height="300" viewBox="0 0 930 300">%s`, style)
	ms, mb := func(p Point) float64 { return p.MS }, func(p Point) float64 { return p.MB }
	panel(out, 0, "answer → next request, ms; rounds", r.Rounds, ms)
	panel(out, 310, "resident, MB; rounds", r.Rounds, mb)
	panel(out, 620, "start → ready, ms; MB of LIFE", r.Starts, ms)
	return out.String() + "</svg>\n"
}

// panel draws points against what they are at, from zero.
func panel(out *strings.Builder, left int, title string, points []Point, value func(Point) float64) {
	if len(points) == 0 { // its group was not measured
		return
	}
	right, top := 1, 1.0
	paths, last := map[string]string{}, map[string]Point{}
	for _, p := range points {
		right, top = max(right, p.At), max(top, value(p)*1.1)
	}
	y := func(p Point) float64 { return 260 - 220*value(p)/top }
	for _, p := range points {
		paths[p.Column] += fmt.Sprintf("%c%d %.1f", "ML"[min(1, len(paths[p.Column]))], 45+200*p.At/right, y(p))
		last[p.Column] = p
	}
	fmt.Fprintf(out, `<g transform="translate(%d)"><text x="45" y="22">%s</text><path class="axis" d="M45 40V260H245"/><text x="42" y="50" text-anchor="end">%s</text><text x="42" y="262" text-anchor="end">0</text><text x="245" y="278" text-anchor="end">%d</text>`,
		left, title, number(top), right)
	for _, c := range []string{"lethe", "against", floor} {
		if d, ok := paths[c]; ok {
			fmt.Fprintf(out, `<path class="%s" d="%s"/><text class="%s" x="250" y="%.1f">%s</text>`, c, d, c, y(last[c])+4, c)
		}
	}
	out.WriteString("</g>")
}
