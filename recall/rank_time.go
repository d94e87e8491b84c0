package recall

import (
	"math"
	"slices"
	"time"
)

// newShare is what the newest of some hits has before the oldest, as a share of
// its score: of two that fit about as well, what was said later holds.
const newShare = 0.04

// favourNew adds to the scores of hits by how lately they were said. The steps are
// those of a logarithm, a day being the first: today and last week are as far apart
// as some months are. Where a query names a time, that is what counts.
func favourNew(hits []ranked, c []candidate) {
	var oldest, newest time.Time
	for _, h := range hits {
		at := c[h.candidate].last
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
		if at.After(newest) {
			newest = at
		}
	}
	steps := func(t time.Time) float64 { return math.Log1p(newest.Sub(t).Hours() / 24) }
	most := steps(oldest)
	if most == 0 {
		return
	}
	for i := range hits {
		hits[i].score *= 1 + newShare*(1-steps(c[hits[i].candidate].last)/most)
	}
}

// timed reports whether a candidate is of a time that the query names. Then that is
// what the words for it mean; else they are words like others: an appointment in
// May is made before.
func (r *ranker) timed() bool {
	return slices.ContainsFunc(r.times, func(fit float64) bool { return fit > 0 })
}
