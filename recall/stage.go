package recall

import (
	"cmp"
	"context"
	"math"
	"slices"

	"lethe/recall/index"
	"lethe/recall/text"
)

// Stage one reads posting lists, which is cheap; stage two reads the originals that
// look best, which is not. These bounds are its price.
const (
	probeRows    = 128    // of each list, to estimate how long it is
	mostPostings = 12_000 // of all lists together
	mostBodies   = 64     // originals that are ranked
	mostOfTime   = 1000   // postings for a time that the query names
)

// posting is the newest postings of one term in one class, newest first.
type posting struct {
	term  int // of the query
	stem  string
	class int
	rows  []int64
	whole bool    // rows are all there are
	worth float64 // what one posting adds to a segment's score
}

// shortlist is what stage one has found.
type shortlist struct {
	view   *index.View
	lists  []*posting
	scores map[int64]float64 // of segments

	segments int       // in the index
	dfs      []float64 // of each term, in how many segments it is, estimated for frequent ones
	docs     []found   // best first
}

// found is an original that may fit.
type found struct {
	index.Doc
	segment int // the one that fits best, counted from 0
}

// stageOne finds the originals that a query may mean, and that fit it.
func stageOne(ctx context.Context, v *index.View, a query, q Query) (*shortlist, error) {
	v.Only = filterOf(q)
	s := &shortlist{view: v, scores: make(map[int64]float64, mostPostings), segments: int(v.Next() - 1)}
	if err := s.probe(ctx, a); err != nil {
		return nil, err
	}
	if err := s.gather(ctx); err != nil {
		return nil, err
	}
	if err := s.during(a); err != nil {
		return nil, err
	}
	return s, s.choose()
}

// filterOf renders what a query is limited to. Days are those of UTC: what lies at
// the edges is left out later.
func filterOf(q Query) (all index.Filter) {
	for _, f := range []struct{ key, value string }{{"room", q.Room}, {"tool", q.Tool}, {"kind", q.Kind}} {
		if f.value != "" {
			all = append(all, index.Has(f.key, f.value))
		}
	}
	if !q.Since.IsZero() || !q.Until.IsZero() {
		all = append(all, index.During(q.Since, q.Until))
	}
	return all
}

// idf is what a term of some rarity counts for in stage one.
func (s *shortlist) idf(df float64) float64 {
	return math.Log(1 + (max(float64(s.segments)-df, 0)+0.5)/(df+0.5))
}

// probe reads the beginning of each term's lists and estimates their lengths: a
// list that goes on is as dense further back as where it was read.
func (s *shortlist) probe(ctx context.Context, a query) error {
	s.dfs = make([]float64, len(a.terms))
	next := s.view.Next()
	for i, t := range a.terms {
		for class := index.Classes; class >= index.About; class-- {
			p := &posting{term: i, class: class, stem: t.stem}
			var err error
			if p.rows, err = s.view.Postings(ctx, p.stem, p.class, next, probeRows); err != nil {
				return err
			}
			df := float64(len(p.rows))
			if p.whole = len(p.rows) < probeRows; !p.whole {
				df *= float64(next) / float64(next-p.rows[len(p.rows)-1])
			}
			if class != index.About || s.dfs[i] == 0 { // how rare a word is goes by what was said, if it was
				s.dfs[i] += df
			}
			if len(p.rows) > 0 {
				s.lists = append(s.lists, p)
			}
		}
	}
	for _, p := range s.lists {
		p.worth = s.idf(s.dfs[p.term]) * index.Weight(p.class)
	}
	slices.SortStableFunc(s.lists, func(a, b *posting) int { return cmp.Compare(b.worth, a.worth) })
	return nil
}

// absent lists the words and identifiers of a query that occur nowhere.
func (s *shortlist) absent(a query) (words []string) {
	for i, t := range a.terms {
		if s.dfs[i] == 0 && !t.part && !t.dated {
			words = append(words, t.asked)
		}
	}
	return words
}

// gather adds up what the lists say, those that weigh most first, until enough
// postings are read. Of a list too long for that, the newest part counts.
func (s *shortlist) gather(ctx context.Context) error {
	left := mostPostings
	for _, p := range s.lists {
		left -= len(p.rows)
	}
	for _, p := range s.lists {
		if !p.whole && left > 0 {
			more, err := s.view.Postings(ctx, p.stem, p.class, p.rows[len(p.rows)-1], left)
			if err != nil {
				return err
			}
			left -= len(more)
			p.rows = append(p.rows, more...)
		}
		for _, id := range p.rows {
			s.scores[id] += p.worth
		}
	}
	return nil
}

// during fetches what was said in a time that the query names.
func (s *shortlist) during(a query) error {
	since, until := text.Bounds(a.periods)
	if until.IsZero() {
		return nil
	}
	rows, err := s.view.Newest(index.During(since, until), mostOfTime)
	if err != nil {
		return err
	}
	worth := s.idf(float64(s.segments) / 10)
	for _, id := range rows {
		s.scores[id] += worth
	}
	return nil
}

// choose looks up whose the best segments are. An original has the score of its
// best segment.
func (s *shortlist) choose() error {
	for _, b := range s.best(2 * mostBodies) { // some are of one original
		if len(s.docs) == mostBodies {
			break
		}
		if slices.ContainsFunc(s.docs, func(d found) bool { return d.ID <= b.id && b.id < d.ID+d.Segments }) {
			continue
		}
		d, err := s.view.Doc(b.id)
		if err != nil {
			return err
		}
		s.docs = append(s.docs, found{d, int(b.id - d.ID)})
	}
	return nil
}

// scored is a segment with what stage one thinks of it.
type scored struct {
	id    int64
	score float64
}

// best returns the n segments with the highest scores, best first, and of equals the
// newer.
func (s *shortlist) best(n int) []scored {
	order := func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id)) }
	out := make([]scored, 0, n+1)
	for id, score := range s.scores {
		b := scored{id, score}
		if len(out) == n && order(b, out[n-1]) > 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(out, b, order)
		out = slices.Insert(out, i, b)
		out = out[:min(n, len(out))]
	}
	return out
}
