package recall

// A confidence says how likely a candidate is what a text is about, so that it
// can be compared between texts: what share of what is asked for stands in a few
// lines of the candidate, by the weight of the words.
const (
	// doubt is added to all that is asked for, as a share of the weight of the
	// rarest word: a text of one common word is never sure.
	doubt = 0.8
	// nameShare is what it is worth that the text names somebody who speaks.
	nameShare = 0.5
	// hintConfidence is what a hint needs.
	hintConfidence = 0.30
)

// confidence is 0 to 1. Words that say little cannot be evidence, but count as
// asked for. Of a long text, the clause that fits best counts.
func (r *ranker) confidence(p *page) float64 {
	best := 0.0
	for from := range p.units {
		if len(p.units[from].matches) == 0 {
			continue
		}
		clear(r.counts)
		for _, u := range p.units[from:min(from+evidenceUnits, len(p.units))] {
			u.add(r.counts, 1)
		}
		for k := range r.q.clauses {
			best = max(best, r.covered(uint64(1)<<k))
		}
	}
	return min(1, best)
}

// covered is the confidence for one clause, with the words that r.counts has.
func (r *ranker) covered(clause uint64) float64 {
	got, all := 0.0, 0.0
	for t, term := range r.q.terms {
		if term.clauses&clause == 0 || r.names[t] {
			continue
		}
		all += r.weight[t]
		if term.telling {
			got += r.weight[t] * min(1, r.counts[t])
		}
	}
	name := 0.0
	if r.named {
		name = nameShare * r.scale
	}
	return (got + min(got, name)) / (all + name + doubt*r.scale)
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
