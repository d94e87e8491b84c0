package recall

import (
	"slices"
	"strings"

	"lethe/compactor/recall/text"
)

const (
	// doubt is added to the weight of the whole query, in weights of the rarest
	// word: a text of one common word is never sure.
	doubt = 1.2
	// nameShare is the worth of a speaker's name in the query, in the same unit.
	nameShare = 0.5
	// evidenceLines bounds the lines in a row that a confidence goes by.
	evidenceLines = 3
	// HintConfidence is the least confidence of a hint.
	HintConfidence = 0.3
	// exclaimed is the share of a confidence that counts where somebody exclaims and asks nothing, as in thanks.
	exclaimed = 0.75
)

// confidence returns the likelihood that a text is about a candidate, 0 to 1, so that
// texts can be compared: the share of the query that stands in a few lines, by the weight
// of the words. A name is no evidence by itself. Nor is one word in common.
func (r *ranker) confidence(page *page) float64 {
	name, words := 0.0, r.words(page)
	if slices.Contains(r.names, true) {
		name, words = nameShare*r.scale, words+1
	}
	if words < 2 {
		return 0
	}
	best := 0.0
	for from := range page.lines {
		if len(page.lines[from].matches) == 0 {
			continue
		}
		clear(r.tally)
		for _, l := range page.lines[from:min(from+evidenceLines, len(page.lines))] {
			r.tally.add(l.matches, (1+l.share)/2) // somebody may well ask for the words of an agent
		}
		got := 0.0
		for t, n := range r.tally {
			if !r.names[t] {
				got += r.evidence[t] * min(1, n)
			}
		}
		best = max(best, (got+min(got, name))/(r.expected+name+doubt*r.scale))
	}
	return best
}

// words counts the different terms of the query, names excepted, in a candidate's lines.
func (r *ranker) words(p *page) (n int) {
	clear(r.tally)
	for _, l := range p.lines {
		r.tally.add(l.matches, 1)
	}
	for t, count := range r.tally {
		if count > 0 && !r.names[t] {
			n++
		}
	}
	return n
}

// Hinted returns the hits that are worth a hint. If one has the least confidence, these are
// the hits with half of it or more; otherwise there are no such hits.
func Hinted(hits []Hit, least float64) []Hit {
	if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Confidence >= least }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return h.Confidence < least/2 })
}

// toldShare is the least share of a passage's words in a summary that tells as much. Measured with summaries by a
// model, 18 of 21 such summaries held the answer, and two thirds of all.
const toldShare = 0.6

// Told reports whether a summary tells as much as a passage.
func Told(passage, summary string) bool { return Share(passage, summary) >= toldShare }

// Share returns the share of a passage's words that a summary has. The lists of names and words
// in a mechanical summary tell nothing.
func Share(passage, summary string) float64 {
	stems, has := text.Stems{}, map[string]bool{}
	for line := range strings.Lines(summary) {
		if strings.HasPrefix(line, "Names: ") || strings.HasPrefix(line, "Words: ") {
			continue
		}
		for t := range text.Tokens(line) {
			has[stems.Term(t)] = true
		}
	}
	words, told := 0.0, 0.0
	for token := range text.Tokens(passage) {
		if token.Counts() && !token.Stop() {
			words++
			if has[stems.Term(token)] {
				told++
			}
		}
	}
	return told / max(1, words)
}
