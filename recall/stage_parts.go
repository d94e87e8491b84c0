package recall

import (
	"context"
	"strings"
)

// insideTerms are the terms that are looked for inside identifiers: the first that
// the index does not have, and in a short query also such as few segments have:
// reading the lists for them costs more than it brings when there is much else.
func insideTerms(terms []term, df func(stem string) int) []int {
	var unknown, rare []int
	left := mostRare
	if len(terms) > shortQuery {
		left = 0
	}
	for i, t := range terms {
		if len(t.text) < leastPart || strings.HasPrefix(t.text, "--") {
			continue
		}
		n := df(t.stem)
		for range gramsIn(t.text) {
			if n == 0 {
				unknown = append(unknown, i)
			} else if n <= rareWord && t.telling && t.of == 0 && len(rare) < left {
				rare = append(rare, i)
			}
			break
		}
	}
	out := append(unknown[:min(len(unknown), mostUnknown)], rare...)
	return out[:min(len(out), mostUnknown)]
}

// parts looks for words inside identifiers by their trigrams: all of a sample,
// spread over the word. A word that is in the index as well counts less there.
func (s *stage) parts(ctx context.Context, terms []term) error {
	for _, i := range insideTerms(terms, s.df) {
		t := terms[i]
		var grams []string
		for gram := range gramsIn(t.text) {
			grams = append(grams, quoted(gramMark+gram))
		}
		sample := make([]string, min(mostGrams, len(grams)))
		for i := range sample {
			sample[i] = grams[i*len(grams)/len(sample)]
		}
		rows, err := s.rows(ctx, strings.Join(sample, " AND "), s.state.Next, mostBodies/mostUnknown)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if df := s.df(t.stem); df > 0 {
				s.scores[row] += insideShare * idf(float64(df), float64(s.docs()))
			} else {
				s.grams[row] = true
			}
		}
		s.unknown = append(s.unknown, t.text)
	}
	return nil
}
