package recall

import (
	"cmp"
	"context"
	"math"
	"slices"

	"lethe/compactor/recall/index"
	"lethe/compactor/recall/text"
)

// Stage one reads posting lists, which is cheap; stage two reads the originals that
// look best, which is not. These bounds are its price.
const (
	mostPostings = 12_000 // of all lists together
	mostBodies   = 64     // originals that are ranked
	mostOfTime   = 1000   // segments for a time that the query names
)

// shortlist is what stage one has found.
type shortlist struct {
	segments int         // in the index
	dfs      []float64   // of each term, in how many segments it is
	scores   []float64   // of segments, whose numbers begin with 1
	docs     []index.Doc // best first, each with the segment that fits best
}

// stageOne finds the originals that a query may mean, and that fit it.
func stageOne(ctx context.Context, v *index.View, a query, q Query) (*shortlist, error) {
	v.Only = q.filter()
	s := &shortlist{
		segments: v.Segments(),
		dfs:      make([]float64, len(a.terms)),
		scores:   make([]float64, v.Segments()+1),
	}
	if err := s.match(ctx, v, a); err != nil {
		return nil, err
	}
	if err := s.during(v, a.periods); err != nil {
		return nil, err
	}
	return s, s.choose(v)
}

// filter renders what a query is limited to.
func (q Query) filter() index.Filter {
	f := index.Filter{Since: q.Since, Until: q.Until}
	for key, value := range map[string]string{"room": q.Room, "tool": q.Tool, "kind": q.Kind} {
		if value != "" {
			f.Has = append(f.Has, index.Term(key, value))
		}
	}
	return f
}

// idf is what a term counts for: the rarer, the more.
func (s *shortlist) idf(df float64) float64 {
	return math.Log(1 + (max(float64(s.segments)-df, 0)+0.5)/(df+1))
}

// posting is where a term stands in one class, and what it adds to a segment's score.
type posting struct {
	index.List
	worth float64
}

// match adds up what the lists of the terms say, those that weigh most first, until enough
// postings are read. Of a list too long for that, the newest part counts.
func (s *shortlist) match(ctx context.Context, v *index.View, a query) error {
	var lists []posting
	for i, t := range a.terms {
		all, err := v.Lists(t.stem)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, list := range all[index.About+1:] {
			s.dfs[i] += float64(list.Len())
		}
		s.dfs[i] = cmp.Or(s.dfs[i], float64(all[index.About].Len())) // if nobody said the word
		for class, list := range slices.Backward(all[:]) {
			lists = append(lists, posting{list, s.idf(s.dfs[i]) * index.Weight(class)})
		}
	}
	slices.SortStableFunc(lists, func(a, b posting) int { return cmp.Compare(b.worth, a.worth) })
	left := mostPostings
	for _, p := range lists {
		segments, err := v.Newest(p.List, left)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		left -= len(segments)
		for _, id := range segments {
			s.scores[id] += p.worth
		}
	}
	return nil
}

// absent lists the words and identifiers of a query that occur nowhere.
func (s *shortlist) absent(a query) (words []string) {
	for i, t := range a.terms {
		isWhole := !t.part && !t.dated
		if isWhole && s.dfs[i] == 0 {
			words = append(words, t.text)
		}
	}
	return words
}

// during adds what was said in a time that the query names.
func (s *shortlist) during(v *index.View, periods []text.Period) error {
	if len(periods) == 0 {
		return nil
	}
	bounds := text.Bounds(periods)
	segments, err := v.During(bounds.First, bounds.Last, mostOfTime)
	worth := s.idf(float64(s.segments) / 10)
	for _, id := range segments {
		s.scores[id] += worth
	}
	return err
}

// best returns the n segments with the highest scores, best first; of equals the newer comes first.
func (s *shortlist) best(n int) []int64 {
	order := func(a, b int64) int { return cmp.Or(cmp.Compare(s.scores[b], s.scores[a]), cmp.Compare(b, a)) }
	out := make([]int64, 0, n+1)
	least := 0.0 // score of the last one, when there are n
	for i, score := range s.scores {
		if score <= 0 || score < least {
			continue
		}
		id := int64(i)
		at, _ := slices.BinarySearchFunc(out, id, order)
		out = slices.Insert(out, at, id)
		if len(out) > n {
			out = out[:n]
			least = s.scores[out[n-1]]
		}
	}
	return out
}

// choose looks up the originals of the segments with the highest scores, and of equals the newer.
// An original has the score of its best segment.
func (s *shortlist) choose(v *index.View) error {
	for _, id := range s.best(2 * mostBodies) { // some are of one original
		if len(s.docs) == mostBodies {
			break
		}
		d, err := v.Doc(id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.docs, func(other index.Doc) bool { return other.Hash == d.Hash }) {
			s.docs = append(s.docs, d)
		}
	}
	return nil
}
