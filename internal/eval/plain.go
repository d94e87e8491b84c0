package eval

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"lethe/recall/text"
)

// bm25 is the yardstick: BM25 over whole originals, headers and all, with stemmed
// words, as FTS5 has it with its porter tokenizer and no further thought.
type bm25 struct {
	docs []map[string]int
	size []float64
	mean float64
	df   map[string]int
}

func newBM25(bodies []string) bm25 {
	b := bm25{df: map[string]int{}}
	for _, body := range bodies {
		counts := map[string]int{}
		words := stems(body)
		for _, w := range words {
			counts[w]++
		}
		for w := range counts {
			b.df[w]++
		}
		b.docs = append(b.docs, counts)
		b.size = append(b.size, float64(len(words)))
		b.mean += float64(len(words))
	}
	b.mean /= float64(max(1, len(bodies)))
	return b
}

func stems(body string) []string {
	words := strings.FieldsFunc(body, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = text.Stem(w)
	}
	return words
}

// rank lists the originals that share a word with a text, best first.
func (b bm25) rank(text string) []int {
	const k1, length = 1.2, 0.75 // FTS5's
	scores := make([]float64, len(b.docs))
	for _, w := range stems(text) {
		n, df := float64(len(b.docs)), float64(b.df[w])
		idf := max(1e-6, math.Log((n-df+0.5)/(df+0.5))) // FTS5 lets no word count against a document
		for i, counts := range b.docs {
			if tf := float64(counts[w]); tf > 0 {
				scores[i] += idf * tf * (k1 + 1) / (tf + k1*(1-length+length*b.size[i]/b.mean))
			}
		}
	}
	var out []int
	for i, s := range scores {
		if s > 0 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(x, y int) int { return cmp.Compare(scores[y], scores[x]) })
	return out
}
