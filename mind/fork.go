package mind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
)

// An Ancestor is a life this one descends from by forks. What it had up to the moment of the fork belongs to
// this one, too.
type Ancestor struct {
	Self string    `json:"self"`
	At   time.Time `json:"at"`
}

// Owns reports whether a blob is of this life: of its own, or of what its ancestors had.
func (s *State) Owns(b blobs.Blob) bool {
	life := cmp.Or(b.Life, b.Hash.String()) // a boot blob is the identity
	return life == s.Self || slices.ContainsFunc(s.Ancestors, func(a Ancestor) bool {
		return a.Self == life && !b.At.After(a.At)
	})
}

// Erased begins an epoch after bytes have gone from the files of the life. texts are what is left of
// the own ones.
func (s *State) Erased(texts []Text) {
	s.Epoch++
	s.withhold()
	for _, t := range texts {
		if s.Files[t.Name] != "" {
			s.learn(t.Version())
		}
	}
	s.Wakes = slices.Clone(s.Wakes)
	for i, w := range s.Wakes {
		if w.Line != "" {
			s.Wakes[i].Hash = chat.Hash([]byte(w.Line))
		}
	}
}

// Fork returns the state that a new identity begins with which has the mind of this one as it
// was at a time: what it knows, and nothing that it hears, owes, waits for or has spent. texts are
// its own files. Its first run makes the beginning of its requests.
func (s *State) Fork(self blobs.Hash, name, version string, at time.Time, texts []Text) *State {
	next := New()
	next.Self, next.Name, next.Version, next.LastBlob = self.String(), name, version, self
	next.Next, next.Turn, next.Away, next.Grants = s.Next, s.Turn, s.Away, maps.Clone(s.Grants)
	for _, t := range texts {
		next.learn(t.Version())
	}
	next.Stable.Past, next.Stable.Params = s.Stable.Past, s.Stable.Params
	next.Usage.LastInput, next.Usage.LastWeight = s.Usage.LastInput, s.Usage.LastWeight
	next.Ancestors = plus(s.Ancestors, Ancestor{s.Self, at})
	next.Context = s.Context
	next.Faded = slices.Clone(s.Faded)
	for i := range next.Faded { // its epochs count from 0
		next.Faded[i].Epoch -= s.Epoch
	}
	return next
}

// Leave lets entries that Back has left fade; r.Original is the newest blob.
func (s *State) Leave(r Range) {
	s.keep(r)
	s.LastBlob = r.Original.Hash
}

// Back returns the state with the context of an earlier one of the same life, which is not used any more, and
// everything else as it is now. What has faded since stays so, unless it is in that context. left are the entries
// that are live now; the caller makes a range of them for Leave.
func (s *State) Back(then *State) (next *State, left []*Entry) {
	back := *s
	back.Context, back.Stable.Past, back.Forgets = then.Context, then.Stable.Past, nil
	back.Overtaken = s.Overtaken // it has happened all the same
	back.Epoch++
	back.withhold()
	back.keep(s.Faded...)
	for _, e := range s.Live {
		if back.Entry(e.N) == nil && back.FadedAt(e.N).Level == "" {
			left = append(left, e)
		}
	}
	return &back, left
}

// Conserved returns nil if each entry that the life ever had stands in exactly one place of the context: live, or in a
// range that has faded. Else missing are the runs that stand in none.
func (s *State) Conserved() (missing []Range, err error) {
	all := slices.Clone(s.Faded)
	for _, e := range s.Live {
		all = append(all, Range{From: e.N, To: e.N})
	}
	next := 1 // the entry that comes next, if each has one place
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

// FadedAt returns the range with which an entry has faded; it has no Level where the entry has not.
func (c Context) FadedAt(n int) Range {
	for _, r := range c.Faded {
		if r.From <= n && n <= r.To {
			return r
		}
	}
	return Range{}
}
