package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"lethe/llm"
	"lethe/mind"
)

// Drawing is the context over several epochs, from left to right: what has faded lies at the
// bottom, the oldest lowest, and what is live on top of it grows until it fades.
type Drawing struct {
	Width, Height int
	Shapes        []shape
	Marks         []shape // what came up again
	Labels        []label // of the newest epoch
}

// shape is a path. Class says what it shows.
type shape struct {
	Class, Path, Title string
	Link               string // the id of what tells of it
	Tip                string // a dot at its end
}

// label names what stands beside it, from the bottom.
type label struct {
	Name   string
	Tokens int64
	Y      float64
}

const (
	columnWide = 125
	gapWide    = 45 // between columns, where things fade
	drawHigh   = 380
)

// layer is entries that stand together in the context.
type layer struct {
	class  string
	title  string
	spans  [][2]int // entries, first and last
	tokens float64
	y      float64 // tokens below it
	flowed float64 // of it that came from the epoch before
}

func (l layer) entries() (n int) {
	for _, s := range l.spans {
		n += s[1] - s[0] + 1
	}
	return n
}

// common is how many entries two layers share.
func (l layer) common(m layer) (n int) {
	for _, a := range l.spans {
		for _, b := range m.spans {
			n += max(0, min(a[1], b[1])-max(a[0], b[0])+1)
		}
	}
	return n
}

// What has no entries has numbers that no entry has.
var (
	systemSpan = [][2]int{{-1, -1}}
	notesSpan  = [][2]int{{-2, -2}}
)

// settled are the layers that stay as they are in an epoch, from the bottom.
func (e *epoch) settled() []layer {
	perToken := 4.0
	if u := e.state.Usage; u.LastInput > 0 {
		perToken = float64(u.LastWeight) / float64(u.LastInput)
	}
	tokens := func(s string) float64 { return float64(llm.Weight(s)) / perToken }
	list := []layer{{class: "system", title: "system prompt and tools", spans: systemSpan, tokens: tokens(e.state.Stable.System + e.state.Stable.Tools)}}
	past := tokens(e.state.Stable.Past)
	for _, r := range e.state.Faded {
		last := &list[len(list)-1]
		size := tokens((mind.Context{}).Line(r))
		past -= size
		if r.Level == mind.Summary || last.class != r.Level {
			list = append(list, layer{class: r.Level, title: fmt.Sprintf("e%d..e%d, %s: %s", r.From, r.To, r.Level, r.Original.Gist)})
			last = &list[len(list)-1]
		} else {
			last.title = fmt.Sprintf("%d %ss", len(last.spans)+1, r.Level)
		}
		last.spans, last.tokens = append(last.spans, [2]int{r.From, r.To}), last.tokens+size
	}
	return append(list, layer{class: "notes", title: "pins and MEMORY", spans: notesSpan, tokens: max(0, past)})
}

func height(list []layer) (sum float64) {
	for _, l := range list {
		sum += l.tokens
	}
	return sum
}

// liveEnd are the layers of the live entries at the end of an epoch: those that fade with the
// next one, and those that stay. How much fades in all is measured; what each run of entries has of it is
// by their number.
func (e *epoch) liveEnd(next *epoch, most float64) (list []layer, stays float64) {
	numbers := []int{}
	for _, l := range e.state.Live {
		numbers = append(numbers, l.N)
	}
	for n := e.state.Next; next != nil && n < next.state.Next; n++ {
		numbers = append(numbers, n)
	}
	count := map[string]float64{}
	owner := (*mind.Range)(nil)
	for i, n := range numbers {
		var to *mind.Range
		if next != nil {
			to = next.at(n)
		}
		class := "live"
		if to != nil {
			class = "leaving"
		}
		count[class]++
		if i == 0 || to != owner || numbers[i-1] != n-1 {
			list = append(list, layer{class: class, title: "live", spans: [][2]int{{n, n}}})
		}
		last := &list[len(list)-1]
		last.spans[0][1], owner = n, to
	}
	if next != nil && next.After > 0 && count["leaving"] > 0 {
		stays = min(most, max(0, float64(next.After)-height(next.base)))
	} else {
		stays = most * count["live"] / max(1, count["live"]+count["leaving"])
	}
	share := map[string]float64{"live": stays, "leaving": most - stays}
	for i, l := range list {
		list[i].tokens = share[l.class] * float64(l.entries()) / count[l.class]
	}
	return list, stays
}

func stack(list []layer) []layer {
	y := 0.0
	for i := range list {
		list[i].y = y
		y += list[i].tokens
	}
	return list
}

// draw draws epochs, the oldest first, below a limit of so many tokens.
func draw(epochs []*epoch, limit int) Drawing {
	d := Drawing{Width: columnWide * max(1, len(epochs)), Height: drawHigh}
	most := float64(limit)
	for _, e := range epochs {
		e.base = e.settled()
		for _, size := range e.sizes {
			most = max(most, float64(size))
		}
	}
	c := canvas{scale: drawHigh / max(1, most)}
	if limit > 0 {
		c.add("limit", "", "the limit", "M0,%s H%s", c.y(float64(limit)), num(float64(d.Width)))
	}
	var flowing []layer // from the column before
	stayed := 0.0       // tokens that stayed live
	for i, e := range epochs {
		x, end := float64(i*columnWide)+gapWide/2, float64((i+1)*columnWide)-gapWide/2
		base, ground := e.base, height(e.base)
		if len(e.sizes) == 0 {
			e.sizes = []int64{int64(ground + stayed)}
		}
		live, _ := e.liveEnd(nil, max(0, float64(e.sizes[0])-ground))
		for k := 1; k < len(live); k++ { // one layer
			live[0].spans, live[0].tokens = append(live[0].spans, live[k].spans...), live[0].tokens+live[k].tokens
		}
		left := stack(append(slices.Clone(base), live[:min(1, len(live))]...))
		for _, f := range flowing {
			c.flow(f, left, x-gapWide, x)
		}
		for _, l := range left[:len(base)] {
			c.add(l.class, "", l.title, "M%s,%s H%s V%s H%sZ", num(x), c.y(l.y), num(end), c.y(l.y+l.tokens), num(x))
		}
		c.live(e, x, end, ground)
		c.marks(e, left, x, end)
		if i == len(epochs)-1 {
			d.Labels = c.labels(base, e.sizes[len(e.sizes)-1], limit)
			break
		}
		live, stayed = e.liveEnd(epochs[i+1], max(0, float64(e.sizes[len(e.sizes)-1])-ground))
		flowing = stack(append(slices.Clone(base), live...))
		for k, f := range flowing {
			if f.class == "leaving" {
				flowing[k].title = epochs[i+1].tells(f.spans[0][0])
			}
		}
	}
	d.Shapes, d.Marks = c.shapes, c.up
	return d
}

// tells is the id of what tells how an entry faded; no fade tells of one that a person took out.
func (e *epoch) tells(n int) string {
	id := fmt.Sprintf("k%d", e.K)
	if i := slices.IndexFunc(e.Fades, func(f faded) bool { return f.Entries.From <= n && n <= f.Entries.To }); i >= 0 {
		id += fmt.Sprintf("-f%d", i)
	}
	return id
}

type canvas struct {
	scale      float64
	shapes, up []shape
}

func num(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func (c *canvas) y(tokens float64) string { return num(drawHigh - tokens*c.scale) }

func (c *canvas) add(class, link, title, format string, args ...any) {
	c.shapes = append(c.shapes, shape{Class: class, Link: link, Title: title, Path: fmt.Sprintf(format, args...)})
}

// labels names what an epoch holds now, and the limit.
func (c *canvas) labels(base []layer, size int64, limit int) (list []label) {
	names := map[string]string{"system": "prompt", "notes": "pins"}
	for _, l := range base {
		name, n := cmp.Or(names[l.class], "faded"), len(list)-1
		if n < 0 || list[n].Name != name {
			list, n = append(list, label{Name: name}), n+1
		}
		list[n].Tokens += int64(l.tokens)
	}
	ground := int64(height(base))
	list = append(list, label{Name: "live", Tokens: max(0, size-ground)}, label{Name: "limit", Tokens: int64(limit)})
	below := int64(0)
	for i := range list {
		l := &list[i]
		l.Y = drawHigh - float64(below+l.Tokens/2)*c.scale + 4
		if l.Name == "limit" {
			l.Y = drawHigh - float64(limit)*c.scale + 4
		} else if i > 0 {
			l.Y = min(l.Y, list[i-1].Y-16)
		}
		below += l.Tokens
	}
	return slices.DeleteFunc(list, func(l label) bool { return l.Tokens == 0 })
}

// flow draws what becomes of a layer between two epochs.
func (c *canvas) flow(f layer, left []layer, x, end float64) {
	from, all := f.y, float64(f.entries())
	for k := range left {
		to := &left[k]
		n := float64(f.common(*to))
		if n == 0 {
			continue
		}
		high, after := f.tokens*n/all, to.tokens*n/float64(to.entries())
		below := to.y + to.flowed
		to.flowed += after
		class, link := "stays", ""
		if f.class == "leaving" {
			class, link = "fades", f.title
		}
		mid := num((x + end) / 2)
		c.add(class+" "+to.class, link, to.title, "M%s,%s C%s,%s %s,%s %s,%s V%s C%s,%s %s,%s %s,%sZ", num(x), c.y(from), mid, c.y(from), mid, c.y(below), num(end), c.y(below),
			c.y(below+after), mid, c.y(below+after), mid, c.y(from+high), num(x), c.y(from+high))
		from += high
	}
}

// live draws how the live entries grow in an epoch, from request to request.
func (c *canvas) live(e *epoch, x, end, ground float64) {
	var path strings.Builder
	fmt.Fprintf(&path, "M%s,%s", num(x), c.y(ground))
	step := max(1, len(e.sizes)/40)
	for i := 0; i < len(e.sizes); i += step {
		fmt.Fprintf(&path, " L%s,%s", num(e.x(i, x, end)), c.y(max(ground, float64(e.sizes[i]))))
	}
	fmt.Fprintf(&path, " L%s,%s", num(end), c.y(max(ground, float64(e.sizes[len(e.sizes)-1]))))
	c.add("live", "", fmt.Sprintf("epoch %d: live entries", e.K), "%s L%s,%sZ", path.String(), num(end), c.y(ground))
}

// x is where request i of an epoch stands.
func (e *epoch) x(i int, x, end float64) float64 {
	return x + (end-x)*float64(i)/math.Max(1, float64(len(e.sizes)-1))
}

// marks draws what came up again: from what it lies in, up to the request that it was for.
func (c *canvas) marks(e *epoch, left []layer, x, end float64) {
	for i, r := range e.Reminded {
		for _, l := range left {
			if l.class == "live" || l.common(layer{spans: [][2]int{{r.From, r.From}}}) == 0 {
				continue
			}
			n := min(r.n, len(e.sizes)-1)
			at, y := num(e.x(n, x, end)), l.y+l.tokens/2
			class := "reminded"
			if r.Opened {
				class = "opened"
			}
			top := c.y(float64(e.sizes[n]))
			c.up = append(c.up, shape{Class: class, Link: fmt.Sprintf("k%d-r%d", e.K, i), Title: r.Gist,
				Path: fmt.Sprintf("M%s,%s V%s", at, c.y(y), top), Tip: fmt.Sprintf("M%s,%sh0", at, top)})
		}
	}
}
