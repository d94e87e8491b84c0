package recall

import (
	"cmp"
	"context"
	"math"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/compactor/recall/index"
	"lethe/compactor/recall/text"
)

const (
	windowTokens = 30 // of the lines in a row that fit best,
	windowLines  = 5  // at most so many

	timeWeight = 2 // that a line fits a time which the query names, in weights of the rarest word

	outsideShare = 0.2 // the share of words in the lines just outside a candidate:
	linesBefore  = 3   // so many lines of the candidate before it,
	linesAfter   = 2   // and of the candidate behind it

	fewSegments = 100

	toolShare = 0.6 // the share of words of calls and results in the choice of a passage
)

// rank orders candidates by their scores for a query, best first and of equals the newest. It leaves out candidates
// without a match. A score is the sum of BM25 of the whole candidate; of BM25 of the lines in a row that fit best,
// times the root of the share of the query that they hold; and of the fit of a line to the times that the query names.
// In a life of more than fewSegments the score of stage one counts, too: of many originals some have a part of any
// query in a few lines. rank reads each line once. It ends with ctx, after the candidate that it is reading.
func rank(ctx context.Context, asked query, cands []candidate, found *shortlist) (hits []Hit, err error) {
	ranker := &ranker{
		q:     asked,
		c:     cands,
		names: make([]bool, len(asked.terms)),
		scale: math.Log1p(float64(max(1, found.segments))),
		tally: make(tally, len(asked.terms)),
	}
	if err := ranker.read(ctx); err != nil {
		return nil, err
	}
	ranker.weigh(found)
	crowd := max(0, math.Log10(float64(found.segments)/fewSegments))
	for i, candidate := range cands {
		page := &ranker.pages[i]
		if page.found == 0 && ranker.times[i] == 0 {
			continue
		}
		candidate.Confidence = ranker.confidence(page)
		candidate.Score = ranker.whole(i) + ranker.best(page) + timeWeight*ranker.scale*ranker.times[i] +
			crowd*found.worth[candidate.Hash]
		best, also := ranker.passages(i)
		candidate.Passage, candidate.Also = text.Passage(best), text.Passage(also)
		candidate.Offset = utf8.RuneCountInString(candidate.body[:start(candidate.body, best[0])])
		hits = append(hits, candidate.Hit)
	}
	sort.SliceStable(hits, func(i, j int) bool {
		a, b := &hits[i], &hits[j]
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.At.Compare(a.At)) < 0
	})
	return hits, nil
}

// ranker holds what the candidates of one query are measured against.
type ranker struct {
	q      query
	c      []candidate
	pages  []page
	times  []float64 // how well each candidate fits the times that the query names
	weight []float64 // of each term
	names  []bool    // terms that are the name of somebody who speaks
	asked  float64   // the weight of all terms
	// evidence is the weight of each term in a confidence: a common word is no evidence, however
	// few of the originals have it. expected is the sum over all terms except names.
	evidence []float64
	expected float64

	scale   float64 // the log of the number of segments: what the rarest term weighs
	docSize float64 // in tokens, on average

	tally tally
}

// read reads the candidates, and finds the terms that name a speaker: that somebody is spoken of
// says little where they always speak.
func (r *ranker) read(ctx context.Context) error {
	terms := r.q.matcher()
	for at := range r.c {
		if err := ctx.Err(); err != nil {
			return err
		}
		page := r.c[at].read(terms)
		r.pages = append(r.pages, page)
		r.times = append(r.times, r.time(at))
		r.docSize += page.size
		for _, t := range page.names {
			r.names[t] = true
		}
	}
	r.docSize = max(1, r.docSize/float64(max(1, len(r.c))))
	return nil
}

// weigh gives each term its weight. An identifier that occurs
// nowhere gives way to its parts.
func (r *ranker) weigh(found *shortlist) {
	for i, term := range r.q.terms {
		weight := found.weight(i, term)
		isElsewhere := term.parts || term.dated || term.stood // something else is looked for, too
		if isElsewhere && found.dfs[i] == 0 {
			weight = 0
		}
		evidence := min(weight, text.Commonness(term.stem))
		r.weight, r.evidence = append(r.weight, weight), append(r.evidence, evidence)
		r.asked += weight
		if !r.names[i] {
			r.expected += evidence
		}
	}
}

// time returns the fit of a candidate to the times that the query names, 0 to 1: by
// the times of its lines, or by its own if its lines tell no time.
func (r *ranker) time(i int) (best float64) {
	if len(r.q.periods) == 0 {
		return 0
	}
	var at []time.Time
	for _, l := range r.c[i].lines {
		if l.First && !l.At.IsZero() {
			at = append(at, l.At)
		}
	}
	if len(at) == 0 {
		at = append(at, r.c[i].First, r.c[i].Last)
	}
	for _, p := range r.q.periods {
		for _, t := range at {
			best = max(best, p.Fit(t))
		}
	}
	return best
}

// whole returns BM25 of a whole candidate with its summary, and with a little of the lines just
// outside it: a question is often in one original and its answer in the next.
func (r *ranker) whole(i int) float64 {
	page := &r.pages[i]
	clear(r.tally)
	for _, l := range page.lines {
		r.tally.add(l.matches, l.share)
	}
	r.tally.add(page.about, 1)
	for k, other := range r.c {
		lines := r.pages[k].lines
		switch {
		case other.Source != "":
			continue // it stands by itself
		case other.To+1 == r.c[i].From:
			lines = lines[max(0, len(lines)-linesBefore):]
		case other.From == r.c[i].To+1:
			lines = lines[:min(linesAfter, len(lines))]
		default:
			continue
		}
		for _, l := range lines {
			r.tally.add(l.matches, outsideShare*l.share)
		}
	}
	score := 0.0
	for t, n := range r.tally {
		score += r.weight[t] * index.Saturate(n, page.size, r.docSize)
	}
	return score
}

// best is the score of the lines in a row that fit best; they begin with a match.
func (r *ranker) best(page *page) (best float64) {
	for from := range page.lines {
		if len(page.lines[from].matches) > 0 {
			best = max(best, r.window(page, from)+r.voice(page.lines[from]))
		}
	}
	return best
}

// voice is the worth of a line with a name and with other words of the query. Each is common where everybody speaks of
// one thing; both in one line are not.
func (r *ranker) voice(l line) (worth float64) {
	clear(r.tally)
	r.tally.add(l.matches, 1)
	names := 0.0
	for t, n := range r.tally {
		if r.names[t] {
			names += n
		} else if n > 0 {
			worth += r.scale * r.evidence[t] / r.expected
		}
	}
	return worth * min(1, names)
}

// window returns BM25 of the lines from one on; less if they hold only a small part of
// the query.
func (r *ranker) window(page *page, from int) (score float64) {
	clear(r.tally)
	size, to := 0, from
	for to < len(page.lines) {
		hasRoom := to-from < windowLines && size < windowTokens
		if to > from && !hasRoom {
			break
		}
		r.tally.add(page.lines[to].matches, page.lines[to].share)
		size += page.lines[to].size
		to++
	}
	got := 0.0
	for t, n := range r.tally {
		score += r.weight[t] * index.Saturate(n, float64(size), windowTokens)
		got += r.weight[t] * min(1, n)
	}
	if r.asked > 0 {
		score *= math.Sqrt(got / r.asked)
	}
	return score
}

// passages returns two passages to show: the lines that fit best; and the best of the others, or the end of their turn.
func (r *ranker) passages(i int) (best, also []text.Line) {
	page, lines := &r.pages[i], r.c[i].lines
	from, to := r.passage(page, lines, 0, 0, nil)
	best = lines[from:to]
	from, to = r.passage(page, lines, from, to, ending(lines[to-1:]))
	return best, lines[from:to]
}

// ending returns the last reply of the turn of a line, nil if it is in that.
func ending(lines []text.Line) (last *text.Section) {
	for _, line := range lines {
		switch {
		case line.Kind == "inbound" && last != nil:
			return last
		case line.Kind == "reply" && line.Section != lines[0].Section:
			if line.Thought {
				continue
			}
			last = line.Section
		}
	}
	return last
}

// passage returns lines to show that are not shown yet: the line that matches most, with its neighbours,
// as many as fit. It prefers words of people to calls and results, and these to thoughts. The reply that
// ends the turn counts like words of a person, and is shown if nothing else matches. It returns 0, 0 if
// there is nothing more to show.
func (r *ranker) passage(page *page, lines []text.Line, shownFrom, shownTo int, end *text.Section) (from, to int) {
	hidden := func(i int) bool {
		exists := i >= 0 && i < len(lines)
		isShown := i >= shownFrom && i < shownTo
		return exists && !isShown
	}
	from, matched := r.bestLine(page, hidden, end)
	if !matched && shownTo > 0 {
		return 0, 0
	}
	return grown(lines, from, hidden)
}

// bestLine returns the hidden line that matches most; the first, if no line does: it is here for its time.
func (r *ranker) bestLine(page *page, hidden func(i int) bool, end *text.Section) (best int, matched bool) {
	most := 0.0
	for i, line := range page.lines {
		if !hidden(i) {
			continue
		}
		worth := r.value(page, i)
		if line.Section == end && !line.Thought {
			worth = worth/line.share + 1e-9
		}
		if worth > most {
			best, most = i, worth
		}
	}
	return best, most > 0
}

// grown returns a line with hidden neighbours of the same kind, as many as a passage has room for.
func grown(lines []text.Line, at int, hidden func(i int) bool) (from, to int) {
	from, to = at, at+1
	grow := func(first, end int) {
		if !hidden(first) || !hidden(end-1) {
			return
		}
		what := lines[at].Content()
		alike := lines[first].Content() == what && lines[end-1].Content() == what
		if alike && text.Fits(lines[first:end]) {
			from, to = first, end
		}
	}
	grow(from, to+1)
	if !strings.HasSuffix(lines[to-1].Text, "?") { // else rather the answer to it
		grow(from-1, to)
	}
	grow(from, to+1)
	return from, to
}

// value sums up the evidence of the different terms in a line and, by a third, beside it: a name, say,
// counts more than a common word. An identifier counts once, and a part of it alone half.
func (r *ranker) value(page *page, at int) (sum float64) {
	if len(page.lines[at].matches) == 0 {
		return 0
	}
	clear(r.tally)
	for j := max(0, at-1); j < min(len(page.lines), at+2); j++ {
		share := page.lines[j].share
		if j != at {
			share /= 3
		}
		r.tally.add(page.lines[j].matches, share)
	}
	whole := false
	for term, n := range r.tally { // parts come behind their identifier
		worth := r.evidence[term] * min(1, n)
		if !r.q.terms[term].part {
			whole = r.q.terms[term].parts && worth > 0
		} else if worth /= 2; whole {
			continue
		}
		sum += worth
	}
	switch line := page.lines[at]; {
	case line.Content() == "tool":
		return sum * toolShare
	case line.Thought:
		return sum / 10
	}
	return sum
}
