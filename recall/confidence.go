package recall

import "slices"

const (
	// doubt is added to all that is asked for, as a share of the weight of the
	// rarest word: a text of one common word is never sure.
	doubt = 1.2
	// nameShare is what it is worth that the text names somebody who speaks.
	nameShare = 0.5
	// evidenceLines are the lines in a row that a confidence goes by.
	evidenceLines = 3
	// hintConfidence is what a hint needs.
	hintConfidence = 0.28
)

// confidence says how likely a candidate is what a text is about, 0 to 1, so that
// it can be compared between texts: what share of what is asked for stands in a few
// lines, by the weight of the words. A name is no evidence by itself.
func (r *ranker) confidence(p *page) float64 {
	name := 0.0
	if slices.Contains(r.names, true) {
		name = nameShare * r.scale
	}
	best := 0.0
	for from := range p.lines {
		if len(p.lines[from].matches) == 0 {
			continue
		}
		r.tally.reset()
		for _, l := range p.lines[from:min(from+evidenceLines, len(p.lines))] {
			r.tally.add(l.matches, 1)
		}
		got := 0.0
		for t := range r.tally.each {
			if !r.names[t] {
				got += r.weight[t]
			}
		}
		best = max(best, (got+min(got, name))/(r.asked+name+doubt*r.scale))
	}
	return best
}

// hinted returns the hits that are worth a hint: none, unless one of the first three
// is likely enough to be what a text is about; then those of the three that are at
// least half as likely.
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
