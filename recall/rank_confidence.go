package recall

import "math/bits"

// A confidence says how likely a candidate is what a text is about, so that it
// can be compared between texts: what share of what is asked for stands in a few
// lines of the candidate, by the weight of the words.
const (
	// doubt is added to all that is asked for, as a share of the weight of the
	// rarest word: a text of one common word is never sure.
	doubt = 1.2
	// nameShare is what it is worth that the text names somebody who speaks.
	nameShare = 0.5
	// hintConfidence is what a hint needs.
	hintConfidence = 0.28
)

// confidence is 0 to 1. Words that people say to be kind cannot be evidence, but
// count as asked for. Of a long text, the clause that fits best counts.
func (r *ranker) confidence(p *page) float64 {
	best := 0.0
	for from := range p.units {
		if r.spent() {
			break
		}
		if len(p.units[from].matches) == 0 {
			continue
		}
		r.tally.reset()
		for _, u := range p.units[from:min(from+evidenceUnits, len(p.units))] {
			r.tally.add(u.matches, 1)
		}
		best = max(best, r.covered())
	}
	return min(1, best)
}

// covered is the confidence for the clause that fits best, with the words that
// the tally has. It goes once through these, however many clauses there are.
func (r *ranker) covered() float64 {
	got := r.got[:r.q.clauses]
	clear(got)
	for t, n := range r.tally.each {
		if !r.q.terms[t].telling || r.names[t] {
			continue
		}
		for rest := r.q.terms[t].clauses; rest != 0; rest &= rest - 1 {
			got[bits.TrailingZeros64(rest)] += r.weight[t] * min(1, n)
			r.tally.steps++
		}
	}
	name := 0.0
	if r.named {
		name = nameShare * r.scale
	}
	best := 0.0
	for k, got := range got {
		if got > 0 {
			best = max(best, (got+min(got, name))/(r.asked[k]+name+doubt*r.scale))
		}
	}
	return best
}

// hinted returns the hits of a ranking that are worth a hint: none, unless one of
// the first three is likely enough to be what a text is about; then those of the
// three that are at least half as likely.
func hinted(r []ranked) []ranked {
	r = r[:min(len(r), mostHints)]
	sure := 0.0
	for _, x := range r {
		sure = max(sure, x.confidence)
	}
	if sure < hintConfidence {
		return nil
	}
	var out []ranked
	for _, x := range r {
		if x.confidence >= hintConfidence/2 {
			out = append(out, x)
		}
	}
	return out
}
