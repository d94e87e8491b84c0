package event

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSpans(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		in := [60]bool{}
		var spans []Span
		for range 8 {
			from := rnd.Int64N(50)
			s := Span{From: from, To: from + 1 + rnd.Int64N(8)}
			spans = AddSpan(spans, s)
			for i := s.From; i < s.To; i++ {
				in[i] = true
			}
		}
		for i := range spans {
			if i > 0 && spans[i-1].To >= spans[i].From {
				t.Fatalf("seed %d: %v touch or are out of order", seed, spans)
			}
		}
		for from := range 59 {
			for to := from + 1; to < 60; to++ {
				if want := !slices.Contains(in[from:to], false); Covered(spans, int64(from), int64(to)) != want {
					t.Fatalf("seed %d: %v cover %d..%d: %v", seed, spans, from, to, !want)
				}
			}
		}
	}
}
