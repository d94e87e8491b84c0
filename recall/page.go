package recall

import (
	"math/bits"

	"lethe/recall/text"
)

// page is a candidate's lines, with what of the query is in them.
type page struct {
	lines []line
	size  float64 // tokens, as far as they count, with those of the summary
	about []int   // terms of the query in the summary
}

type line struct {
	*text.Line
	size    int     // tokens
	matches []int   // terms of the query, in order of appearance: who says a message, then what it says
	share   float64 // what they count for
}

// What people said counts more than what agents answered, and a short message more than
// a long one: what is asked for is mostly told in few words, and many words hold much of
// any query.
const (
	leastShare = 0.3 // of an agent's words, and those of a very long message
	longTokens = 100 // of a message whose words count less, the longer the less
)

// read finds the terms of a query in what a candidate says.
func (c *candidate) read(terms *text.Matcher) page {
	p := page{lines: make([]line, len(c.lines))}
	scan := func(said string) (size int, matches []int) {
		for t := range text.Tokens(said) {
			if t.Counts() {
				size++
			}
			if term, ok := terms.Find(t); ok {
				matches = append(matches, term)
			}
		}
		return size, matches
	}
	for i := range c.lines {
		l := line{Line: &c.lines[i]}
		_, who := scan(l.Name())
		l.size, l.matches = scan(l.Text)
		l.matches = append(who, l.matches...)
		p.lines[i] = l
	}
	size := 0
	size, p.about = scan(c.about)
	p.size = float64(size)
	for from := 0; from < len(p.lines); {
		from = p.share(from)
	}
	return p
}

// share says what the words of the message or the section that begins with a line count
// for, and returns the line behind it.
func (p *page) share(from int) (to int) {
	first, size := p.lines[from], 0
	for to = from; to < len(p.lines) && p.lines[to].Section == first.Section && p.lines[to].Message == first.Message; to++ {
		size += p.lines[to].size
	}
	share := 1.0
	switch {
	case first.Kind == "reply" || first.Message != nil && first.Agent:
		share = leastShare
	case first.Message != nil:
		share = max(leastShare, min(1, longTokens/float64(max(1, size))))
	}
	for i := from; i < to; i++ {
		p.lines[i].share = share
		p.size += share * float64(p.lines[i].size)
	}
	return to
}

// tally counts the terms of a query in some lines. Only those that occur cost
// anything, and they are gone through in the order of the query.
type tally struct {
	counts [mostWords]float64
	have   [(mostWords + 63) / 64]uint64 // a bit for each term with a count
}

func (t *tally) add(matches []int, share float64) {
	for _, term := range matches {
		t.counts[term] += share
		t.have[term/64] |= 1 << (term % 64)
	}
}

// each yields the terms that have been counted, and how often.
func (t *tally) each(yield func(term int, count float64) bool) {
	for i, word := range t.have {
		for ; word != 0; word &= word - 1 {
			term := 64*i + bits.TrailingZeros64(word)
			if !yield(term, t.counts[term]) {
				return
			}
		}
	}
}

// reset forgets the counts.
func (t *tally) reset() {
	for term := range t.each {
		t.counts[term] = 0
	}
	clear(t.have[:])
}
