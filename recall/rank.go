package recall

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// ranked is a candidate that fits, and where in it.
type ranked struct {
	candidate  int
	score      float64
	confidence float64
	from, to   int // bytes of the passage in its body
}

// What a score is made of. docs/recall.md says what each is good for; results
// change little when any of them is halved or doubled.
const (
	windowTokens  = 30  // of the lines in a row that fit best
	evidenceUnits = 3   // lines in a row that a hint goes by
	outsideShare  = 0.2 // what words in the lines just outside a candidate count for
	linesBefore   = 3   // of the candidate before it
	linesAfter    = 2
	gistShare     = 0.5 // what words in the gist count for
	openedShare   = 0.01
	insideShare   = 0.5 // what a word inside an identifier counts for, if it is one by itself elsewhere
)

// What ranking may cost, whatever is asked and whatever the candidates say. No
// text that people write comes near it.
const (
	mostPeriods = 16        // times that a query names
	mostSteps   = 8_000_000 // matches that are counted, and words that are weighed
)

// rank orders candidates by how well they fit a query, best first and of equals
// the newest, and leaves out those that have nothing of it. Its cost is that of
// reading the bodies once. When mostSteps are used up, the candidates that are
// left, which are those that stage one thinks least of, are left out. It ends
// with ctx, after the body that it is at.
func rank(ctx context.Context, q query, c []candidate, s stats) ([]ranked, error) {
	r, err := newRanker(ctx, q, c, s)
	if err != nil {
		return nil, err
	}
	out := make([]ranked, 0, len(c))
	for i := range c {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.spent() {
			break
		}
		if x, ok := r.rank(i); ok {
			out = append(out, x)
		}
	}
	if len(q.periods) == 0 {
		favourNew(out, c)
	}
	slices.SortStableFunc(out, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), c[b.candidate].last.Compare(c[a.candidate].last))
	})
	return out, nil
}

// ranker holds what the candidates of one query are measured against.
type ranker struct {
	q      query
	c      []candidate
	pages  []page
	before []int     // the candidate that ends where this one begins, or -1
	after  []int     // the candidate that begins where this one ends, or -1
	weight []float64 // of each term
	names  []bool    // terms that are the name of somebody who speaks
	inside []bool    // terms that are a part of a longer identifier
	named  bool
	times  []float64 // how well each candidate fits the times that the query names

	scale             float64 // the log of the number of documents: what the rarest word weighs
	docSize, lineSize float64 // in tokens, on average

	tally tally
	all   float64             // the weight of all terms but names
	asked [maxClauses]float64 // that of each clause's
	got   [maxClauses]float64 // that of those in some lines
}

func newRanker(ctx context.Context, q query, c []candidate, s stats) (*ranker, error) {
	// What stage one has not looked up weighs nothing.
	q.terms, q.periods = q.terms[:min(len(q.terms), mostWords)], q.periods[:min(len(q.periods), mostPeriods)]
	n := len(q.terms)
	r := &ranker{q: q, c: c, names: make([]bool, n), inside: make([]bool, n)}
	r.scale = math.Log1p(float64(max(1, s.docs())))
	if err := r.read(ctx, s); err != nil {
		return nil, err
	}
	r.findNames()
	for i := range c {
		r.times = append(r.times, r.fits(i))
	}
	r.weigh(s)
	r.ask()
	r.join()
	return r, nil
}

// spent reports whether ranking has cost what it may.
func (r *ranker) spent() bool { return r.tally.steps > mostSteps }

func (r *ranker) read(ctx context.Context, s stats) error {
	reader := newPageReader(r.q)
	inside := insideTerms(r.q.terms, s.df)
	lines := 0
	for _, c := range r.c {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := reader.read(c)
		if c.trigrams > 0 {
			r.fragments(&p, c.body, inside, s)
		}
		r.pages = append(r.pages, p)
		r.docSize += float64(p.size)
		lines += len(p.units)
	}
	r.lineSize = max(1, r.docSize/float64(max(1, lines)))
	r.docSize = max(1, r.docSize/float64(max(1, len(r.c))))
	return nil
}

// fragments finds terms inside longer identifiers. Where the term is a word by
// itself, it has been found.
func (r *ranker) fragments(p *page, body string, inside []int, s stats) {
	for i := range p.units {
		u := &p.units[i]
		folded := fold(body[u.from:u.to])
		for _, t := range inside {
			text := r.q.terms[t].text
			if !strings.Contains(folded, text) || slices.ContainsFunc(u.matches, func(m match) bool { return m.term == int32(t) }) {
				continue
			}
			share := 1.0
			if s.df(r.q.terms[t].stem) > 0 {
				share = insideShare
			}
			for ident := range (piece{u.span, u.quoted}).tokens(body) {
				if ident.kind == identToken && findable(ident.text) && strings.Contains(ident.text, text) {
					r.inside[t] = true
					u.matches = append(slices.Clip(u.matches), match{int32(t), int32(ident.from), share})
					break
				}
			}
		}
	}
}

// findNames finds the terms that name a speaker. That somebody is spoken of says
// little where they always speak.
func (r *ranker) findNames() {
	seen, terms := map[string]bool{}, map[string][]int{}
	for i, term := range r.q.terms {
		terms[term.text] = append(terms[term.text], i)
	}
	for _, p := range r.pages {
		for _, u := range p.units {
			if u.speaker == "" || seen[u.speaker] {
				continue
			}
			seen[u.speaker] = true
			for t := range scan(u.speaker) {
				for _, i := range terms[t.text] {
					r.names[i], r.named = true, true
				}
			}
		}
	}
}

// weigh gives each term its weight: the rarer, the more. An identifier that
// occurs nowhere gives way to its parts.
func (r *ranker) weigh(s stats) {
	n := float64(max(1, s.docs()))
	unknown := make([]bool, len(r.q.terms)+1)
	for i, t := range r.q.terms {
		df := s.df(t.stem)
		for _, v := range t.variants {
			if df == 0 {
				df = s.df(v)
			}
		}
		weight := t.weight
		unknown[i+1] = df == 0 && !r.inside[i]
		if unknown[t.of] && t.of > 0 {
			weight = 1
			r.weight[t.of-1] = 0
		}
		if t.dated && (unknown[i+1] || !t.day && r.timed()) {
			weight = 0 // it is a time here, and not what was said
		}
		r.weight = append(r.weight, weight*math.Log(1+(max(n-float64(df), 0)+0.5)/(float64(df)+1)))
	}
}

// ask adds up what is asked for, in all and in each clause. A name is no part of
// it.
func (r *ranker) ask() {
	for i, t := range r.q.terms {
		if r.names[i] {
			continue
		}
		r.all += r.weight[i]
		for rest := t.clauses; rest != 0; rest &= rest - 1 {
			r.asked[bits.TrailingZeros64(rest)] += r.weight[i]
		}
	}
}

// join finds the candidates that follow each other: what belongs together is
// often cut in two.
func (r *ranker) join() {
	r.before, r.after = make([]int, len(r.c)), make([]int, len(r.c))
	begins := map[int]int{}
	for i, c := range r.c {
		r.before[i], r.after[i] = -1, -1
		begins[c.from] = i
	}
	for i, c := range r.c {
		if j, ok := begins[c.to+1]; ok && j != i {
			r.after[i], r.before[j] = j, i
		}
	}
}

// rank measures one candidate. It is false when the candidate has nothing of what
// is asked for.
func (r *ranker) rank(i int) (ranked, bool) {
	p := &r.pages[i]
	time := r.times[i]
	if !p.matched() && time == 0 {
		return ranked{}, false
	}
	best := r.best(p)
	out := ranked{candidate: i, score: r.whole(i) + best.score + r.scale*time}
	out.score += openedShare * r.scale * math.Log1p(float64(r.c[i].opened))
	out.confidence = r.confidence(p)
	passage := r.passage(p, best, r.c[i].body)
	out.from, out.to = passage.from, passage.to
	return out, true
}

// saturated is the part of BM25 that depends on how often a term occurs in a text
// of some size.
func saturated(count, size, usual float64) float64 {
	return count * (bm25k1 + 1) / (count + bm25k1*(1-bm25b+bm25b*size/usual))
}

// whole is BM25 of all that a candidate says, with a little of what stands just
// outside it.
func (r *ranker) whole(i int) float64 {
	p := &r.pages[i]
	r.tally.reset()
	r.tally.add(p.gist, gistShare)
	for _, u := range p.units {
		r.tally.add(u.matches, 1)
	}
	if j := r.before[i]; j >= 0 {
		units := r.pages[j].units
		for _, u := range units[max(0, len(units)-linesBefore):] {
			r.tally.add(u.matches, outsideShare)
		}
	}
	if j := r.after[i]; j >= 0 {
		units := r.pages[j].units
		for _, u := range units[:min(linesAfter, len(units))] {
			r.tally.add(u.matches, outsideShare)
		}
	}
	score := 0.0
	for t, n := range r.tally.each {
		score += r.weight[t] * saturated(n, float64(p.size), r.docSize)
	}
	return score
}

// window is some lines in a row.
type window struct {
	from, to int // units
	score    float64
}

// best finds the lines in a row that fit best.
func (r *ranker) best(p *page) window {
	var best window
	for from := range p.units {
		if r.spent() {
			break
		}
		// It begins with a match, or one line before it.
		if len(p.units[from].matches) == 0 && (from+1 == len(p.units) || len(p.units[from+1].matches) == 0) {
			continue
		}
		if w := r.window(p, from); w.score > best.score {
			best = w
		}
	}
	return best
}

// maxWindow bounds a window, in lines.
const maxWindow = 5

// window measures the lines from one on: BM25, and less where they have only a
// small part of what is asked for.
func (r *ranker) window(p *page, from int) window {
	r.tally.reset()
	size, to := 0, from
	for to < len(p.units) && (to == from || to-from < maxWindow && size < windowTokens) {
		r.tally.add(p.units[to].matches, 1)
		size += p.units[to].size
		to++
	}
	w := window{from: from, to: to}
	got := 0.0
	usual := max(r.lineSize, windowTokens)
	for t, n := range r.tally.each {
		w.score += r.weight[t] * saturated(n, float64(size), usual)
		if !r.names[t] {
			got += r.weight[t]
		}
	}
	if r.all > 0 {
		w.score *= math.Sqrt(got / r.all)
	}
	return w
}

// fits says how well a candidate fits the times that the query names, 0 to 1: by
// the times of its lines, or by its own where lines have none.
func (r *ranker) fits(i int) float64 {
	best, dated := 0.0, false
	for _, p := range r.q.periods {
		for _, u := range r.pages[i].units {
			if !u.at.IsZero() {
				best, dated = max(best, p.fit(u.at)), true
			}
		}
		if !dated {
			best = max(best, p.fit(r.c[i].first), p.fit(r.c[i].last))
		}
	}
	return best
}
