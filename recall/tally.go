package recall

import "math/bits"

// tally counts terms of a query in some text. Only those that occur cost
// anything, and they are gone through in the order of the query.
type tally struct {
	counts [mostWords]float64
	have   [(mostWords + 63) / 64]uint64 // a bit for each term with a count
	steps  int                           // what has been counted since it was made
}

// add counts matches, each for a share.
func (t *tally) add(matches []match, share float64) {
	for _, m := range matches {
		t.counts[m.term] += share * m.share
		t.have[m.term/64] |= 1 << (m.term % 64)
	}
	t.steps += len(matches) + 1
}

// most counts of each term only the match that has most.
func (t *tally) most(matches []match) {
	for _, m := range matches {
		t.counts[m.term] = max(t.counts[m.term], m.share)
		t.have[m.term/64] |= 1 << (m.term % 64)
	}
	t.steps += len(matches) + 1
}

// each yields the terms that have been counted, and how often.
func (t *tally) each(yield func(term int, count float64) bool) {
	for i, word := range t.have {
		for ; word != 0; word &= word - 1 {
			t.steps++
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
