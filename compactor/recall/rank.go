package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
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

	toolShare = 0.6 // the share of words of calls and results in the choice of a passage
)

// rank orders candidates by their scores for a query, best first and of equals the
// newest. It leaves out candidates without a match. A score is the sum of BM25 of the
// whole candidate; of BM25 of the lines in a row that fit best, times the root of the
// share of the query that they hold; and of the fit of a line to the times that the
// query names. rank reads each line once. It ends with ctx, after the candidate that
// it is reading.
func rank(ctx context.Context, q query, cands []candidate, s *shortlist) (hits []Hit, err error) {
	r := &ranker{
		q:     q,
		c:     cands,
		names: make([]bool, len(q.terms)),
		scale: math.Log1p(float64(max(1, s.segments))),
		tally: make(tally, len(q.terms)),
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	r.weigh(s)
	for i, c := range cands {
		p := &r.pages[i]
		if p.found == 0 && r.times[i] == 0 {
			continue
		}
		c.Confidence = r.confidence(p)
		c.Score = r.whole(i) + r.best(p) + timeWeight*r.scale*r.times[i]
		best, also := r.passages(i)
		c.Passage, c.Also = text.Passage(best), text.Passage(also)
		c.Offset = utf8.RuneCountInString(c.body[:start(c.body, best[0])])
		hits = append(hits, c.Hit)
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), b.At.Compare(a.At)) })
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
	for i := range r.c {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := r.c[i].read(terms)
		r.pages = append(r.pages, p)
		r.times = append(r.times, r.time(i))
		r.docSize += p.size
		for _, t := range p.names {
			r.names[t] = true
		}
	}
	r.docSize = max(1, r.docSize/float64(max(1, len(r.c))))
	return nil
}

// weigh gives each term its weight. An identifier that occurs
// nowhere gives way to its parts.
func (r *ranker) weigh(s *shortlist) {
	for i, t := range r.q.terms {
		weight := s.idf(s.dfs[i])
		isElsewhere := t.parts || t.dated // its parts or its time are looked for, too
		if isElsewhere && s.dfs[i] == 0 {
			weight = 0
		}
		evidence := min(weight, text.Commonness(t.stem))
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
	p := &r.pages[i]
	clear(r.tally)
	for _, l := range p.lines {
		r.tally.add(l.matches, l.share)
	}
	r.tally.add(p.about, 1)
	for k, c := range r.c {
		lines := r.pages[k].lines
		switch {
		case c.To+1 == r.c[i].From:
			lines = lines[max(0, len(lines)-linesBefore):]
		case c.From == r.c[i].To+1:
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
		score += r.weight[t] * index.Saturate(n, p.size, r.docSize)
	}
	return score
}

// best is the score of the lines in a row that fit best; they begin with a match.
func (r *ranker) best(p *page) (best float64) {
	for from := range p.lines {
		if len(p.lines[from].matches) > 0 {
			best = max(best, r.window(p, from))
		}
	}
	return best
}

// window returns BM25 of the lines from one on; less if they hold only a small part of
// the query.
func (r *ranker) window(p *page, from int) (score float64) {
	clear(r.tally)
	size, to := 0, from
	for to < len(p.lines) {
		hasRoom := to-from < windowLines && size < windowTokens
		if to > from && !hasRoom {
			break
		}
		r.tally.add(p.lines[to].matches, p.lines[to].share)
		size += p.lines[to].size
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

// passages returns two passages to show: the lines that fit best; and the best of the others, or
// the end of the turn to which the first belong.
func (r *ranker) passages(i int) (best, also []text.Line) {
	p, lines := &r.pages[i], r.c[i].lines
	from, to := r.passage(p, lines, 0, 0, nil)
	best = lines[from:to]
	from, to = r.passage(p, lines, from, to, ending(lines[to-1:]))
	return best, lines[from:to]
}

// ending returns the last reply of the turn of a line, nil if it is in that.
func ending(lines []text.Line) (last *text.Section) {
	for _, l := range lines {
		switch {
		case l.Kind == "inbound" && last != nil:
			return last
		case l.Kind == "reply" && l.Section != lines[0].Section:
			if l.Thought {
				continue
			}
			last = l.Section
		}
	}
	return last
}

// passage returns lines to show that are not shown yet: the line that matches most, with its neighbours,
// as many as fit. It prefers words of people to calls and results, and these to thoughts. The reply that
// ends the turn counts like words of a person, and is shown if nothing else matches. It returns 0, 0 if
// there is nothing more to show.
func (r *ranker) passage(p *page, lines []text.Line, shownFrom, shownTo int, end *text.Section) (from, to int) {
	hidden := func(i int) bool {
		isShown := i >= shownFrom && i < shownTo
		return i >= 0 && i < len(lines) && !isShown
	}
	most := 0.0
	for i, l := range p.lines {
		if !hidden(i) {
			continue
		}
		v := r.value(p, i)
		if l.Section == end && !l.Thought {
			v = v/l.share + 1e-9
		}
		if v > most {
			from, to, most = i, i+1, v
		}
	}
	switch {
	case to > 0:
	case shownTo > 0:
		return 0, 0
	default: // nothing matches: it is here for its time
		to = 1
	}
	what := lines[from].Content()
	alike := func(i int) bool { return lines[i].Content() == what }
	grow := func(before, after int) {
		first, end := from-before, to+after
		if !hidden(first) || !hidden(end-1) {
			return
		}
		same := alike(first) && alike(end-1)
		if same && text.Fits(lines[first:end]) {
			from, to = first, end
		}
	}
	grow(0, 1)
	if !strings.HasSuffix(lines[to-1].Text, "?") { // else rather what was said to that
		grow(1, 0)
	}
	grow(0, 1)
	return from, to
}

// value sums up the evidence of the different terms in a line and, by a third, beside it: a name, say,
// counts more than a common word. An identifier counts once, and a part of it alone half.
func (r *ranker) value(p *page, i int) (sum float64) {
	if len(p.lines[i].matches) == 0 {
		return 0
	}
	clear(r.tally)
	for j := max(0, i-1); j < min(len(p.lines), i+2); j++ {
		share := p.lines[j].share
		if j != i {
			share /= 3
		}
		r.tally.add(p.lines[j].matches, share)
	}
	whole := false
	for t, n := range r.tally { // parts come behind their identifier
		v := r.evidence[t] * min(1, n)
		if !r.q.terms[t].part {
			whole = r.q.terms[t].parts && v > 0
		} else if v /= 2; whole {
			continue
		}
		sum += v
	}
	switch l := p.lines[i]; {
	case l.Content() == "tool":
		return sum * toolShare
	case l.Thought:
		return sum / 10
	}
	return sum
}
