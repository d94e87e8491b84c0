package document

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// matrix maps a point x, y to x*m[0] + y*m[2] + m[4], x*m[1] + y*m[3] + m[5].
type matrix [6]float64

var still = matrix{0: 1, 3: 1}

// after is the map that maps by n first.
func (m matrix) after(n matrix) (out matrix) {
	for i := range 3 {
		x, y := n[2*i], n[2*i+1]
		out[2*i], out[2*i+1] = x*m[0]+y*m[2], x*m[1]+y*m[3]
	}
	out[4] += m[4]
	out[5] += m[5]
	return out
}

// font is a font with the widths of its codes, in thousandths of its size.
type font struct {
	pdf.TextEncoding
	bytes  int // of a code
	widths map[int]float64
	other  float64 // the width of other codes
}

func newFont(f pdf.Font) *font {
	out := &font{f.Encoder(), 1, map[int]float64{}, 500}
	for i, w := range f.Widths() {
		out.widths[f.FirstChar()+i] = w
	}
	if below := f.V.Key("DescendantFonts").Index(0); below.Kind() == pdf.Dict {
		out.bytes, out.other = 2, 1000
		if w := below.Key("DW"); !w.IsNull() {
			out.other = w.Float64()
		}
		w := below.Key("W")
		for i := 0; i+1 < w.Len(); {
			code, list := int(w.Index(i).Int64()), w.Index(i+1)
			for j := range list.Len() {
				out.widths[code+j] = list.Index(j).Float64()
			}
			for c := code; list.Kind() != pdf.Array && c <= min(int(list.Int64()), 1<<16); c++ {
				out.widths[c] = w.Index(i + 2).Float64()
			}
			i += 2
			if list.Kind() != pdf.Array {
				i++
			}
		}
	}
	return out
}

// pen writes down the glyphs of a page in the order in which it draws them.
type pen struct {
	out           strings.Builder
	page, line, m matrix // to the page from the text; where the line begins, and the next glyph
	saved         []matrix
	resources     pdf.Value
	fonts         map[string]*font // of resources
	depth         int              // forms within forms
	font          *font
	size, leading float64
	end, base     float64 // where on the page the last glyph ends, and how high it stands
}

func textOf(page pdf.Page) string {
	p := &pen{page: still, line: still, m: still, resources: page.Resources(), fonts: map[string]*font{}}
	if contents := page.V.Key("Contents"); !contents.IsNull() {
		pdf.Interpret(contents, p.do)
	}
	fields := page.V.Key("Annots")
	for i := range fields.Len() {
		p.page[5] = -1e6 * float64(i) // a line each
		p.draw(fields.Index(i).Key("AP").Key("N"))
	}
	return p.out.String() + "\n"
}

// maxDepth bounds forms within forms.
const maxDepth = 8

// draw writes down a form: a part of a page that stands by itself, as printed pages have for what is half transparent.
func (p *pen) draw(form pdf.Value) {
	if form.Key("Subtype").Name() != "Form" || p.depth == maxDepth {
		return
	}
	before := *p
	p.depth++
	if own := form.Key("Matrix"); own.Len() == len(still) {
		var placed matrix
		for i := range placed {
			placed[i] = own.Index(i).Float64()
		}
		p.page = p.page.after(placed)
	}
	if own := form.Key("Resources"); !own.IsNull() {
		p.resources, p.fonts = own, map[string]*font{}
	}
	p.saved = nil
	pdf.Interpret(form, p.do)
	p.page, p.saved, p.line, p.m = before.page, before.saved, before.line, before.m
	p.resources, p.fonts, p.font, p.size, p.leading = before.resources, before.fonts, before.font, before.size, before.leading
	p.depth = before.depth
}

func (p *pen) do(stack *pdf.Stack, op string) {
	args := make([]pdf.Value, stack.Len())
	numbers := matrix{}
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = stack.Pop()
		if i < len(numbers) {
			numbers[i] = args[i].Float64()
		}
	}
	switch op {
	case "q":
		p.saved = append(p.saved, p.page)
	case "Q":
		if last := len(p.saved) - 1; last >= 0 {
			p.page, p.saved = p.saved[last], p.saved[:last]
		}
	case "cm":
		p.page = p.page.after(numbers)
	case "BT":
		p.line, p.m = still, still
	case "Tm":
		p.line, p.m = numbers, numbers
	case "TL":
		p.leading = numbers[0]
	case "TD", "Td":
		if op == "TD" {
			p.leading = -numbers[1]
		}
		p.move(numbers[0], numbers[1])
	case "T*":
		p.move(0, -p.leading)
	case "Tf":
		name := args[0].Name()
		if p.fonts[name] == nil {
			p.fonts[name] = newFont(pdf.Font{V: p.resources.Key("Font").Key(name)})
		}
		p.font, p.size = p.fonts[name], numbers[1]
	case "'", `"`:
		p.move(0, -p.leading)
		p.show(args[len(args)-1].RawString())
	case "Do":
		p.draw(p.resources.Key("XObject").Key(args[0].Name()))
	case "Tj":
		p.show(args[0].RawString())
	case "TJ":
		for i := range args[0].Len() {
			piece := args[0].Index(i)
			p.show(piece.RawString())
			p.m = p.m.after(matrix{1, 0, 0, 1, -piece.Float64() / 1000 * p.size, 0})
		}
	}
}

// move begins a line.
func (p *pen) move(x, y float64) {
	p.line = p.line.after(matrix{1, 0, 0, 1, x, y})
	p.m = p.line
}

// show writes glyphs. A line ends where the next one stands higher or lower; a gap between two is a space, a wide one a
// tab.
func (p *pen) show(codes string) {
	if p.font == nil || codes == "" {
		return
	}
	text := p.font.Decode(codes)
	at := p.page.after(p.m)
	height := math.Hypot(at[2], at[3]) * p.size
	switch gap := at[4] - p.end; {
	case p.out.Len() == 0:
	case math.Abs(at[5]-p.base) > height/2:
		p.out.WriteString("\n")
	case gap > height:
		p.out.WriteString("\t")
	case gap > height/5 && !strings.HasPrefix(text, " ") && !strings.HasSuffix(p.out.String(), " "):
		p.out.WriteString(" ")
	}
	p.out.WriteString(text)
	width := 0.0
	for i := 0; i+p.font.bytes <= len(codes); i += p.font.bytes {
		code := 0
		for _, b := range []byte(codes[i : i+p.font.bytes]) {
			code = code<<8 + int(b)
		}
		w, known := p.font.widths[code]
		if !known {
			w = p.font.other
		}
		width += w / 1000 * p.size
	}
	p.m = p.m.after(matrix{1, 0, 0, 1, width, 0})
	at = p.page.after(p.m)
	p.end, p.base = at[4], at[5]
}
