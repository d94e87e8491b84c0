package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"lethe/blobs"
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

// shortlist is the result of stage one.
type shortlist struct {
	segments int                    // in the index
	dfs      []float64              // of each term, the number of its segments
	scores   []float64              // of segments, whose numbers begin with 1
	docs     []index.Doc            // best first, each with the segment that fits best
	worth    map[blobs.Hash]float64 // of each of these, that segment's score
}

// stageOne finds the originals that a query may mean, and that fit it. It adds words that stand for unknown ones.
func stageOne(
	ctx context.Context, view *index.View, asked *query, query Query, words func() string,
) (*shortlist, error) {
	view.Only = query.filter()
	found := &shortlist{
		segments: view.Segments(),
		scores:   make([]float64, view.Segments()+1),
		worth:    map[blobs.Hash]float64{},
	}
	if err := found.match(ctx, view, asked, words); err != nil {
		return nil, err
	}
	if err := found.during(view, asked.periods); err != nil {
		return nil, err
	}
	return found, found.choose(view)
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

// idf is the weight of a term in df segments: the rarer, the more.
func (s *shortlist) idf(df float64) float64 {
	return math.Log(1 + (max(float64(s.segments)-df, 0)+0.5)/(df+1))
}

// nearShare is the part of its weight that a word counts which stands for another one.
const nearShare = 0.7

// weight is the weight of a term.
func (s *shortlist) weight(number int, term term) float64 {
	weight := s.idf(s.dfs[number])
	if term.near {
		weight *= nearShare
	}
	return weight
}

// posting is the list of a term in one class, and the score that it adds to each segment there.
type posting struct {
	index.List
	worth float64
}

// match adds the terms' lists to the scores, the weightiest list first, until enough postings are read. Of a list too
// long for that, the newest part counts.
func (s *shortlist) match(ctx context.Context, view *index.View, asked *query, words func() string) error {
	var lists []posting
	for i := 0; i < len(asked.terms); i++ { // there may be more of them
		t := asked.terms[i]
		all, err := view.Lists(t.stem)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		s.dfs = append(s.dfs, 0)
		for _, list := range all[index.About+1:] {
			s.dfs[i] += float64(list.Len())
		}
		s.dfs[i] = cmp.Or(s.dfs[i], float64(all[index.About].Len())) // if nobody said the word
		if t.spelt && s.dfs[i] == 0 {
			asked.approach(i, words())
		}
		for class, list := range slices.Backward(all[:]) {
			lists = append(lists, posting{list, s.weight(i, t) * index.Weight(class)})
		}
	}
	sort.SliceStable(lists, func(i, j int) bool { return lists[i].worth > lists[j].worth })
	left := mostPostings
	for _, posting := range lists {
		segments, err := view.Newest(posting.List, left)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		left -= len(segments)
		for _, id := range segments {
			s.scores[id] += posting.worth
		}
	}
	return nil
}

// absent lists the words and identifiers of a query that occur nowhere. An identifier that occurs in another one does:
// it is listed only if one of its parts, which follow it, occurs nowhere.
func (s *shortlist) absent(asked query) (words []string) {
	for i, term := range asked.terms {
		isWhole := !term.part && !term.dated && !term.stood
		mayOccur := term.parts
		for j := i + 1; j < len(asked.terms) && asked.terms[j].part; j++ {
			mayOccur = mayOccur && s.dfs[j] > 0
		}
		if isWhole && s.dfs[i] == 0 && !mayOccur {
			words = append(words, term.text)
		}
	}
	return words
}

// during adds what was said in a time that the query names.
func (s *shortlist) during(view *index.View, periods []text.Period) error {
	if len(periods) == 0 {
		return nil
	}
	bounds := text.Bounds(periods)
	segments, err := view.During(bounds.First, bounds.Last, mostOfTime)
	worth := s.idf(float64(s.segments) / 10)
	for _, id := range segments {
		s.scores[id] += worth
	}
	return err
}

// best returns the segments with the highest scores, best first; of equals the newer comes first. They are more than
// mostBodies, since some are of one original.
func (s *shortlist) best() []int64 {
	const most = 2 * mostBodies
	order := func(a, b int64) int { return cmp.Or(cmp.Compare(s.scores[b], s.scores[a]), cmp.Compare(b, a)) }
	out := make([]int64, 0, most+1)
	least := 0.0 // score of the last one, when there are n
	for i, score := range s.scores {
		if score <= 0 || score < least {
			continue
		}
		id := int64(i)
		at, _ := slices.BinarySearchFunc(out, id, order)
		out = slices.Insert(out, at, id)
		if len(out) > most {
			out = out[:most]
			least = s.scores[out[most-1]]
		}
	}
	return out
}

// choose looks up the originals of the segments with the highest scores, and of equals the newer.
// An original has the score of its best segment.
func (s *shortlist) choose(view *index.View) error {
	for _, id := range s.best() {
		if len(s.docs) == mostBodies {
			break
		}
		doc, err := view.Doc(id)
		if err != nil {
			return err
		}
		if s.worth[doc.Hash] == 0 {
			s.docs = append(s.docs, doc)
			s.worth[doc.Hash] = s.scores[id]
		}
	}
	return nil
}
