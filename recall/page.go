package recall

import (
	"math/bits"

	"lethe/recall/text"
)

// page is a candidate's lines, with what of the query is in them.
type page struct {
	lines []line
	size  int   // tokens, with those of the summary
	about []int // terms of the query in the summary
}

type line struct {
	*text.Line
	size    int   // tokens
	matches []int // terms of the query, in order of appearance
}

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
		p.size += size
		return size, matches
	}
	for i := range c.lines {
		l := line{Line: &c.lines[i]}
		l.size, l.matches = scan(l.Text)
		p.lines[i] = l
	}
	_, p.about = scan(c.about)
	return p
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
