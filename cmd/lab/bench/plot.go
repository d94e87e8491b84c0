package bench

import (
	"fmt"
	"slices"
	"strings"
)

// style suits light and dark screens; a line's class is its column.
const style = `<style>text{font:12px sans-serif;fill:#555}path{fill:none;stroke-width:2}.axis{stroke:#888;stroke-width:1}.lethe{stroke:#2a78c8}.against{stroke:#c8642a}.six{stroke:#888}
text.lethe,text.against,text.six{stroke:none}text.lethe{fill:#2a78c8}text.against{fill:#c8642a}@media(prefers-color-scheme:dark){text,text.six{fill:#bbb}.lethe{stroke:#6db3ff}text.lethe{fill:#6db3ff}}</style>`

// Plot is an SVG: time and memory of a round as a context grows, and the start as a life does.
func (r *Report) Plot() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="930" height="300" viewBox="0 0 930 300">%s`, style)
	r.panel(out, 0, "answer → next request, ms; rounds", "round ")
	r.panel(out, 310, "resident, MB; rounds", "memory ")
	r.panel(out, 620, "start → ready, ms; MB of LIFE", "ready ")
	return out.String() + "</svg>\n"
}

// panel draws the figures of rows that end in a number against it, from zero.
func (r *Report) panel(out *strings.Builder, left int, title, rows string) {
	var ats []int
	top := 1.0
	for at := range 2001 {
		for _, v := range r.Figures[fmt.Sprint(rows, at)] {
			top = max(top, v*1.1)
			if !slices.Contains(ats, at) {
				ats = append(ats, at)
			}
		}
	}
	if len(ats) == 0 { // its group was not measured
		return
	}
	right := ats[len(ats)-1]
	fmt.Fprintf(out, `<g transform="translate(%d)"><text x="45" y="22">%s</text><path class="axis" d="M45 40V260H245"/><text x="42" y="50" text-anchor="end">%s</text><text x="42" y="262" text-anchor="end">0</text><text x="245" y="278" text-anchor="end">%d</text>`,
		left, title, number(top), right)
	for _, c := range []string{"lethe", "against", floor} {
		path, y := "", 0.0
		for _, at := range ats {
			if v, ok := r.Figures[fmt.Sprint(rows, at)][c]; ok {
				y = 260 - 220*v/top
				path += fmt.Sprintf("%c%d %.1f", "ML"[min(1, len(path))], 45+200*at/right, y)
			}
		}
		if path != "" {
			fmt.Fprintf(out, `<path class="%s" d="%s"/><text class="%s" x="250" y="%.1f">%s</text>`, c, path, c, y+4, c)
		}
	}
	out.WriteString("</g>")
}
