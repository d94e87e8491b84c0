package mind

import (
	"cmp"
	"fmt"
	"slices"
)

// Conserved returns nil if each entry that the life ever had stands in exactly one place of the context: live, or in a
// range that has faded. Else missing are the runs that stand in none.
func (s *State) Conserved() (missing []Range, err error) {
	all := slices.Clone(s.Faded)
	for _, e := range s.Live {
		all = append(all, Range{From: e.N, To: e.N})
	}
	next := 1
	for _, r := range append(Ordered(all), Range{From: s.Next}) {
		if r.From > next {
			missing = append(missing, Range{From: next, To: r.From - 1})
		}
		if r.From != next {
			err = fmt.Errorf("e%d is neither live nor faded, or is there twice", min(next, r.From))
		}
		next = max(next, r.To+1)
	}
	return missing, err
}

// Ordered sorts ranges, oldest first.
func Ordered(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	return ranges
}

// keep takes what stands in no place back into the context, as far as ranges that had faded hold it. A part of a range
// keeps the original of the whole.
func (s *State) keep(ranges ...Range) {
	for _, r := range ranges {
		missing, _ := s.Conserved()
		for _, gap := range missing {
			part := r
			if part.From, part.To = max(r.From, gap.From), min(r.To, gap.To); part.From <= part.To {
				s.Faded = Ordered(append(s.Faded, part))
			}
		}
	}
}

// faded reports whether an entry has faded.
func (s *State) faded(n int) bool {
	return slices.ContainsFunc(s.Faded, func(r Range) bool { return r.From <= n && n <= r.To })
}
