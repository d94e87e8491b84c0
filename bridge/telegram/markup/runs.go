package markup

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"
)

// style is a set of the styles that Telegram can lay over each other.
type style uint8

const (
	bold style = 1 << iota
	italic
	struck
)

var styles = []struct {
	bit style
	typ models.MessageEntityType
}{
	{bold, models.MessageEntityTypeBold},
	{italic, models.MessageEntityTypeItalic},
	{struck, models.MessageEntityTypeStrikethrough},
}

// look is how a stretch of text appears. Numbers tell one quotation, block, code or link from
// the next; 0 is none.
type look struct {
	style                  style
	quote, pre, code, link int
}

// place is a look without its styles: no style reaches from one place into another, for that is
// how Telegram cuts them.
func (l look) place() look {
	l.style = 0
	return l
}

// doc is a text with its spans in bytes, before it is cut into messages.
type doc struct {
	text  string
	spans []entity
}

// entity is a models.MessageEntity in bytes of a doc.
type entity struct {
	start, end int
	typ        models.MessageEntityType
	arg        string // URL or language
}

// run is a stretch of one look, to its end.
type run struct {
	end int
	look
}

// builder collects text in stretches of equal look.
type builder struct {
	text  []byte
	runs  []run
	langs []string // of pre 1, 2, …
	urls  []string // of link 1, 2, …
}

func (b *builder) put(s string, l look) {
	if s == "" {
		return
	}
	if l.pre != 0 || l.code != 0 {
		l.style = 0
	}
	b.text = append(b.text, s...)
	if n := len(b.runs); n > 0 && b.runs[n-1].look == l {
		b.runs[n-1].end = len(b.text)
		return
	}
	b.runs = append(b.runs, run{len(b.text), l})
}

// doc returns what was put, its entities sorted as [Message] has them and nested as [Check]
// demands.
func (b *builder) doc() doc {
	d := doc{text: string(b.text)}
	d.spans = append(d.spans, b.stretches(models.MessageEntityTypeBlockquote, func(l look) (look, string) {
		return look{quote: l.quote}, ""
	})...)
	d.spans = append(d.spans, b.stretches(models.MessageEntityTypePre, func(l look) (look, string) {
		if l.pre == 0 {
			return look{}, ""
		}
		return look{quote: l.quote, pre: l.pre}, b.langs[l.pre-1]
	})...)
	d.spans = append(d.spans, b.stretches(models.MessageEntityTypeCode, func(l look) (look, string) {
		if l.code == 0 {
			return look{}, ""
		}
		return look{quote: l.quote, code: l.code}, ""
	})...)
	d.spans = append(d.spans, b.stretches(models.MessageEntityTypeTextLink, func(l look) (look, string) {
		if l.link == 0 {
			return look{}, ""
		}
		return look{quote: l.quote, link: l.link}, b.urls[l.link-1]
	})...)
	d.spans = append(d.spans, b.styled()...)

	kept := d.spans[:0]
	for _, e := range d.spans {
		if e.typ != models.MessageEntityTypeBlockquote { // its ends depend on where it is cut
			e = e.trim(d.text)
		}
		if e.start < e.end {
			kept = append(kept, e)
		}
	}
	d.spans = kept
	slices.SortStableFunc(d.spans, func(x, y entity) int {
		return cmp.Or(
			cmp.Compare(x.start, y.start),
			cmp.Compare(y.end, x.end),
			cmp.Compare(classes[x.typ], classes[y.typ]),
		)
	})
	return d
}

// stretches returns an entity for each longest stretch of runs for which key returns the same,
// other than the zero look.
func (b *builder) stretches(typ models.MessageEntityType, key func(look) (look, string)) []entity {
	var out []entity
	var last look
	start := 0
	for _, r := range b.runs {
		k, arg := key(r.look)
		switch {
		case k == (look{}):
		case k == last:
			out[len(out)-1].end = r.end
		default:
			out = append(out, entity{start, r.end, typ, arg})
		}
		last, start = k, r.end
	}
	return out
}

// styled returns the entities of the styles. Those that begin together are opened longest
// first, and one that ends before another that was opened later divides it, so that they nest.
func (b *builder) styled() []entity {
	reach := b.reach()
	var out []entity
	var open []int // indexes into out
	var openStyles style
	closeTo := func(n, at int) {
		for len(open) > n {
			e := &out[open[len(open)-1]]
			e.end = at
			openStyles &^= styleOf(e.typ)
			open = open[:len(open)-1]
		}
	}
	start := 0
	for i, r := range b.runs {
		if i > 0 && r.place() != b.runs[i-1].place() {
			closeTo(0, start)
		}
		for n, o := range open {
			if styleOf(out[o].typ)&r.style == 0 {
				closeTo(n, start)
				break
			}
		}
		missing := r.style &^ openStyles
		for missing != 0 {
			next := -1
			for s := range styles {
				if styles[s].bit&missing != 0 && (next < 0 || reach[i][s] > reach[i][next]) {
					next = s
				}
			}
			missing &^= styles[next].bit
			openStyles |= styles[next].bit
			open = append(open, len(out))
			out = append(out, entity{start: start, typ: styles[next].typ})
		}
		start = r.end
	}
	closeTo(0, start)
	return out
}

// reach returns for each run and style how far the style goes on from there.
func (b *builder) reach() [][3]int {
	out := make([][3]int, len(b.runs))
	for i := len(b.runs) - 1; i >= 0; i-- {
		r := b.runs[i]
		joined := i+1 < len(b.runs) && b.runs[i+1].place() == r.place()
		for s := range styles {
			switch {
			case r.style&styles[s].bit == 0:
			case joined && b.runs[i+1].style&styles[s].bit != 0:
				out[i][s] = out[i+1][s]
			default:
				out[i][s] = r.end
			}
		}
	}
	return out
}

func styleOf(typ models.MessageEntityType) style {
	for _, s := range styles {
		if s.typ == typ {
			return s.bit
		}
	}
	return 0
}

// blanks is the white space that Telegram trims from messages and entities.
const blanks = " \n"

// trim returns e without white space at its ends. A block keeps the indentation of its first
// line.
func (e entity) trim(text string) entity {
	if e.start >= e.end {
		return e
	}
	s := strings.TrimRight(text[e.start:e.end], blanks)
	e.end = e.start + len(s)
	lead := s[:len(s)-len(strings.TrimLeft(s, blanks))]
	if e.typ == models.MessageEntityTypePre {
		lead = lead[:strings.LastIndexByte(lead, '\n')+1]
	}
	e.start += len(lead)
	return e
}
