package mind

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lethe/blobs"
)

// Ancestor is a life that this one was forked from, or one that that one was. What it had up to
// the moment of the fork is this one's, too.
type Ancestor struct {
	Self string    `json:"self"`
	At   time.Time `json:"at"`
}

// Owns reports whether a blob is of this life: of its own, or of what its ancestors had.
func (s *State) Owns(b blobs.Blob) bool {
	life := cmp.Or(b.Life, b.Hash.String()) // a boot blob is the identity
	return life == s.Self || slices.ContainsFunc(s.Ancestors, func(a Ancestor) bool { return a.Self == life && !b.At.After(a.At) })
}

// Fork returns the state that a new identity begins with which has the mind of this one as it
// was at a time: what it knows, and nothing that it hears, owes, waits for or has spent. Its
// first run makes the beginning of its requests.
func (s *State) Fork(self blobs.Hash, name, version string, at time.Time) *State {
	next := New()
	next.Self, next.Name, next.Version, next.LastBlob = self.String(), name, version, self
	next.Next, next.Turn, next.Grants = s.Next, s.Turn, maps.Clone(s.Grants)
	next.Stable.Past, next.Stable.Params = s.Stable.Past, s.Stable.Params
	next.Usage.LastInput, next.Usage.LastWeight = s.Usage.LastInput, s.Usage.LastWeight
	next.Ancestors = append(slices.Clone(s.Ancestors), Ancestor{s.Self, at})
	next.Context = Context{slices.Clone(s.Faded), slices.Clone(s.Pins), slices.Clone(s.Live), s.Overtaken}
	for i := range next.Faded { // its epochs count from 0
		next.Faded[i].Epoch -= s.Epoch
	}
	return next
}

// Back returns the state with the context of an earlier one of the same life, which is not used any more, and everything
// else as it is now. What has faded since stays so, unless it is in that context. left are the entries that are live now,
// and for which the caller has yet to Keep a range.
func (s *State) Back(then *State) (next *State, left []*Entry) {
	back := *s
	back.Context, back.Stable.Past, back.Forgets = then.Context, then.Stable.Past, nil
	back.Overtaken = s.Overtaken // it has happened all the same
	back.Epoch++
	back.Keep(s.Faded...)
	for _, e := range s.Live {
		if back.Entry(e.N) == nil && !back.faded(e.N) {
			left = append(left, e)
		}
	}
	return &back, left
}
