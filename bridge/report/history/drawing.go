package history

import (
	"cmp"
	"fmt"
	"slices"

	"lethe/agent/llm"
	"lethe/mind"
)

// Drawing shows the context over several epochs, from left to right: what has faded lies at the
// bottom, the oldest lowest, and what is live on top of it grows until it fades.
type Drawing struct {
	Width, Height int
	Shapes        []Shape
	Marks         []Shape // what came up again
	Labels        []Label // of the newest epoch
}

// Shape is a path. Its class names its colour.
type Shape struct {
	Class, Path, Title string
	Link               string // the id of the words about it
	Tip                string // a dot at its end
}

// Label names a layer beside it, from the bottom.
type Label struct {
	Name      string
	Tokens, Y float64
}

const (
	columnWide = 125
	gapWide    = 45 // between columns, where things fade
	drawHigh   = 380
)

// layer holds entries that stand together in the context.
type layer struct {
	class  string   // system, summary, gist, card, notes, live, or leaving: live and about to fade
	link   string   // of a leaving layer: the id of the words about it
	spans  [][2]int // entries, first and last
	tokens float64
	y      float64 // tokens below it
	flowed float64 // of it that came from the epoch before
}

// What has no entries has numbers that no entry has.
var (
	systemSpan = [][2]int{{-1, -1}}
	notesSpan  = [][2]int{{-2, -2}}
)

func (l layer) title() string {
	titles := map[string]string{"system": "system prompt and tools", "notes": "pins and MEMORY", "live": "live"}
	if title, ok := titles[l.class]; ok {
		return title
	}
	return Entries(l.spans[0][0], l.spans[len(l.spans)-1][1]) + " " + l.class
}

// common counts the entries that two layers share.
func (l layer) common(m layer) (n int) {
	for _, a := range l.spans {
		for _, b := range m.spans {
			n += max(0, min(a[1], b[1])-max(a[0], b[0])+1)
		}
	}
	return n
}

func (l layer) entries() float64 { return float64(l.common(l)) }

func height(list []layer) (sum float64) {
	for _, l := range list {
		sum += l.tokens
	}
	return sum
}

// settled lists the layers that stay as they are in an epoch, from the bottom.
func (e *Epoch) settled() []layer {
	perToken := 4.0
	if u := e.state.Usage; u.LastInput > 0 {
		perToken = float64(u.LastWeight) / float64(u.LastInput)
	}
	tokens := func(s string) float64 { return float64(llm.Weight(s)) / perToken }
	stable := e.state.Stable
	list := []layer{{class: "system", spans: systemSpan, tokens: tokens(stable.System + stable.Tools)}}
	notes := tokens(stable.Past)
	for _, span := range e.state.Faded {
		if span.Level == mind.Summary || list[len(list)-1].class != span.Level {
			list = append(list, layer{class: span.Level})
		}
		last := &list[len(list)-1]
		size := tokens((mind.Context{}).Line(span))
		last.spans, last.tokens = append(last.spans, [2]int{span.From, span.To}), last.tokens+size
		notes -= size
	}
	return append(list, layer{class: "notes", spans: notesSpan, tokens: max(0, notes)})
}

// column stacks the layers of a request of this size. Where next is not nil, it is the last request of the epoch, and
// what fades then lies below what stays. The provider counted how much fades in all; each run of entries has its part
// of that by their number.
func (e *Epoch) column(size int64, next *Epoch) []layer {
	list, stay := slices.Clone(e.base), layer{class: "live", tokens: max(0, float64(size)-height(e.base))}
	stays := e.state.Live
	if next != nil {
		stays = next.state.Live
		leaving := 0.0
		for i, f := range next.Fades {
			if f.Was == "live" {
				l := layer{class: "leaving", link: fmt.Sprintf("k%d-f%d", next.K, i)}
				l.spans = [][2]int{{f.Entries.From, f.Entries.To}}
				leaving += l.entries()
				list = append(list, l)
			}
		}
		if leaving > 0 {
			fades := max(0, stay.tokens-max(0, float64(next.After)-height(next.base)))
			stay.tokens -= fades
			for i := len(e.base); i < len(list); i++ {
				list[i].tokens = fades * list[i].entries() / leaving
			}
		}
	}
	for _, entry := range stays {
		stay.spans = append(stay.spans, [2]int{entry.N, entry.N})
	}
	list = append(list, stay)
	y := 0.0
	for i := range list {
		list[i].y = y
		y += list[i].tokens
	}
	return list
}

// Draw draws epochs, the oldest first, below a limit of so many tokens.
func Draw(epochs []*Epoch, limit int) Drawing {
	most := float64(max(1, limit))
	for _, one := range epochs {
		one.base = one.settled()
		if len(one.sizes) == 0 {
			one.sizes = []int64{int64(height(one.base))}
		}
		most = max(most, float64(slices.Max(one.sizes)))
	}
	drawn := canvas{scale: drawHigh / most}
	drawn.Width, drawn.Height = columnWide*max(1, len(epochs)), drawHigh
	if limit > 0 {
		drawn.add("limit", "", "the limit", "M0,%.1f H%d", drawn.y(float64(limit)), drawn.Width)
	}
	var before []layer // the end of the column to the left
	for i, one := range epochs {
		x := float64(i*columnWide) + gapWide/2
		end := x + columnWide - gapWide
		begins := one.column(one.sizes[0], nil)
		for _, f := range before {
			drawn.flow(f, begins, x-gapWide, x)
		}
		for _, l := range begins[:len(one.base)] {
			drawn.add(l.class, "", l.title(), "M%.1f,%.1f H%.1f V%.1f H%.1fZ", x, drawn.y(l.y), end, drawn.y(l.y+l.tokens), x)
		}
		drawn.grow(one, x, end)
		drawn.marks(one, begins, x, end)
		var next *Epoch
		if i+1 < len(epochs) {
			next = epochs[i+1]
		}
		before = one.column(one.sizes[len(one.sizes)-1], next)
	}
	drawn.label(before, limit)
	return drawn.Drawing
}

type canvas struct {
	Drawing
	scale float64
}

func (c *canvas) y(tokens float64) float64 { return drawHigh - tokens*c.scale }

func (c *canvas) add(class, link, title, format string, args ...any) {
	c.Shapes = append(c.Shapes, Shape{Class: class, Link: link, Title: title, Path: fmt.Sprintf(format, args...)})
}

// label names the layers of the last column, and the limit.
func (c *canvas) label(layers []layer, limit int) {
	names := map[string]string{"system": "prompt", "notes": "pins", "live": "live"}
	tokens, middle := map[string]float64{}, map[string]float64{}
	for _, l := range layers {
		name := cmp.Or(names[l.class], "faded")
		tokens[name] += l.tokens
		middle[name] = c.y(l.y+l.tokens/2) + 4
	}
	y := drawHigh + 16.0
	for _, name := range []string{"prompt", "faded", "pins", "live"} {
		if tokens[name] >= 1 {
			y = min(middle[name], y-16)
			c.Labels = append(c.Labels, Label{name, tokens[name], y})
		}
	}
	if limit > 0 {
		c.Labels = append(c.Labels, Label{"limit", float64(limit), c.y(float64(limit)) + 4})
	}
}

// flow draws what becomes of a layer between two epochs.
func (c *canvas) flow(before layer, left []layer, x, end float64) {
	from := before.y
	for k := range left {
		to := &left[k]
		n := float64(before.common(*to))
		if n == 0 {
			continue
		}
		high, after := before.tokens*n/before.entries(), to.tokens*n/to.entries()
		class := "stays "
		if before.class == "leaving" {
			class = "fades "
		}
		y1, y2, y3, y4 := c.y(from), c.y(to.y+to.flowed), c.y(to.y+to.flowed+after), c.y(from+high)
		mid := (x + end) / 2
		c.add(class+to.class, before.link, to.title(), "M%.1f,%.1f C%.1f,%.1[2]f %.1[3]f,%.1f %.1f,%.1[4]f "+
			"V%.1[6]f C%.1[3]f,%.1[6]f %.1[3]f,%.1f %.1[1]f,%.1[7]fZ", x, y1, mid, y2, end, y3, y4)
		from += high
		to.flowed += after
	}
}

// grow draws how the live entries grow in an epoch.
func (c *canvas) grow(e *Epoch, x, end float64) {
	ground := height(e.base)
	first, last := float64(e.sizes[0]), float64(e.sizes[len(e.sizes)-1])
	c.add("live", "", fmt.Sprintf("epoch %d: live entries", e.K), "M%.1f,%.1f V%.1f L%.1f,%.1f V%.1[2]fZ",
		x, c.y(ground), c.y(max(ground, first)), end, c.y(max(ground, last)))
}

// marks draws what came up again: from the layer that it lies in, up to the request that it was for.
func (c *canvas) marks(one *Epoch, layers []layer, x, end float64) {
	for i, reminded := range one.Reminded {
		forgotten := layer{spans: [][2]int{{reminded.From, reminded.From}}}
		in := slices.IndexFunc(layers[:len(one.base)], func(l layer) bool { return l.common(forgotten) > 0 })
		if in < 0 {
			continue
		}
		n := min(reminded.n, len(one.sizes)-1)
		at := x + (end-x)*float64(n)/float64(max(1, len(one.sizes)-1)) // where the request stands
		l, top := layers[in], c.y(float64(one.sizes[n]))
		mark := Shape{Class: "reminded", Link: fmt.Sprintf("k%d-r%d", one.K, i), Title: reminded.Gist}
		if reminded.Opened {
			mark.Class = "opened"
		}
		mark.Path = fmt.Sprintf("M%.1f,%.1f V%.1f", at, c.y(l.y+l.tokens/2), top)
		mark.Tip = fmt.Sprintf("M%.1f,%.1fh0", at, top)
		c.Marks = append(c.Marks, mark)
	}
}
