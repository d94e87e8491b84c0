package eval

import (
	"cmp"
	"math"
	"slices"

	"lethe/compactor/recall/text"
)

// plain is BM25 over all that originals say, with the names of those who say it, to
// compare recall with.
type plain struct {
	originals []*original
	counts    []map[string]float64 // of the stems in each
	sizes     []float64
	has       map[string]float64 // in how many originals a stem is
	mean      float64            // size
}

func newPlain(originals []*original) *plain {
	p := &plain{originals: originals, has: map[string]float64{}}
	stems := text.Stems{}
	for _, o := range originals {
		counts, size := map[string]float64{}, 0.0
		for s := range text.Sections(o.body) {
			for line := range s.Lines(o.body) {
				for t := range text.Tokens(line.Name() + " " + line.Text) {
					if !t.Stop() {
						counts[stems.Term(t)]++
						size++
					}
				}
			}
		}
		for stem := range counts {
			p.has[stem]++
		}
		p.counts, p.sizes = append(p.counts, counts), append(p.sizes, size)
		p.mean += size / float64(len(originals))
	}
	return p
}

// rank returns the originals that have something of a text, best first, and of
// equals the newest.
func (p *plain) rank(said string) []*original {
	const k1, b = 1.2, 0.75
	scores := make([]float64, len(p.originals))
	stems, seen := text.Stems{}, map[string]bool{}
	for t := range text.Tokens(said) {
		stem := stems.Term(t)
		if t.Stop() || seen[stem] {
			continue
		}
		seen[stem] = true
		idf := math.Log(1 + (float64(len(scores))-p.has[stem]+0.5)/(p.has[stem]+0.5))
		for i, counts := range p.counts {
			n := counts[stem]
			scores[i] += idf * n * (k1 + 1) / (n + k1*(1-b+b*p.sizes[i]/p.mean))
		}
	}
	var order []int
	for i := len(scores) - 1; i >= 0; i-- {
		if scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	var out []*original
	for _, i := range order {
		out = append(out, p.originals[i])
	}
	return out
}
