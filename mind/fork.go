package mind

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
)

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
	s.keep(s.Next, r)
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
	back.keep(s.Next, s.Faded...)
	for _, e := range s.Live {
		if back.Entry(e.N) == nil && back.FadedAt(e.N).Level == "" {
			left = append(left, e)
		}
	}
	return &back, left
}

// Forget returns the state with a context in which entries have faded. s itself is
// not changed. last is the newest blob of those that the context refers to.
func (s *State) Forget(c Context, last blobs.Hash) *State {
	next := *s
	next.Context, next.LastBlob = c, last
	return &next
}

// Forgot returns the state without the oldest n of Forgets, which were dealt with.
func (s *State) Forgot(n int) *State {
	next := *s
	next.Forgets = slices.Clone(s.Forgets[n:])
	return &next
}

// Conserved returns nil if each entry that the life ever had stands in exactly one place of the context: live, or in a
// faded range. It returns an error if an entry stands in two places or in no place; missing lists the latter.
func (s *State) Conserved() (missing []Range, err error) { return s.conserved(s.Next) }

// Become replaces the state by next, and returns a copy of the old one. The caller must not use next afterwards.
func (s *State) Become(next *State) (was *State) {
	before := *s
	*s = *next
	return &before
}
