package mind

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
)

// Owns reports whether a blob belongs to this life, or to an ancestor at the moment of the fork.
func (s *State) Owns(blob blobs.Blob) bool {
	life := cmp.Or(blob.Life, blob.Hash.String()) // a boot blob is the identity
	return life == s.Self || slices.ContainsFunc(s.Ancestors, func(ancestor Ancestor) bool {
		return ancestor.Self == life && !blob.At.After(ancestor.At)
	})
}

// Erased begins an epoch after bytes of the life's files were erased. texts are its own files as they are now.
func (s *State) Erased(texts []Text) {
	s.Epoch++
	s.Stable.withhold(s.Live, s.Next)
	for _, text := range texts {
		if s.Files[text.Name] != "" {
			s.learn(text.Version())
		}
	}
	s.Wakes = slices.Clone(s.Wakes)
	for at, wake := range s.Wakes {
		if wake.Line != "" {
			s.Wakes[at].Hash = chat.Hash([]byte(wake.Line))
		}
	}
}

// Fork returns the first state of a new identity, self, that has the mind of this one at a time. It keeps the
// context and knowledge, and drops rooms, debts, questions, jobs and costs. texts are the fork's own files. Its
// first run renders the stable parts of its requests.
func (s *State) Fork(self blobs.Hash, name, version string, at time.Time, texts []Text) *State {
	next := New()
	next.Self, next.Name, next.Version, next.LastBlob = self.String(), name, version, self
	next.Next, next.Turn, next.Away, next.Grants = s.Next, s.Turn, s.Away, maps.Clone(s.Grants)
	for _, text := range texts {
		next.learn(text.Version())
	}
	next.Stable.Past, next.Stable.Params = s.Stable.Past, s.Stable.Params
	next.Usage.LastInput, next.Usage.LastWeight = s.Usage.LastInput, s.Usage.LastWeight
	next.Ancestors = plus(s.Ancestors, Ancestor{s.Self, at})
	next.Readers = s.Witnesses()
	next.Context, next.Inheritance = s.Context, s.Inheritance
	next.Faded = slices.Clone(s.Faded)
	for i := range next.Faded { // its epochs count from 0
		next.Faded[i].Epoch -= s.Epoch
	}
	return next
}

// Leave adds the range of entries that Back has left; r.Original is the newest blob.
func (s *State) Leave(r Range) {
	s.keep(s.Next, r)
	s.LastBlob = r.Original.Hash
}

// Back returns the state with the context of an earlier state of the same life; everything else stays as it is now. The
// caller must not use then afterwards. Entries that have faded since stay faded, unless they are live in that context.
// left are the live entries that the context lacks; the caller makes a range of them for Leave.
func (s *State) Back(then *State) (next *State, left []*Entry) {
	back := *s
	back.Context, back.Stable.Past, back.Forgets = then.Context, then.Stable.Past, nil
	back.Overtaken = s.Overtaken // later entries still supersede earlier ranges
	back.Epoch++
	back.Stable.withhold(back.Live, back.Next)
	back.keep(s.Next, s.Faded...)
	for _, entry := range s.Live {
		if back.Entry(entry.N) == nil && back.FadedAt(entry.N).Level == "" {
			left = append(left, entry)
		}
	}
	return &back, left
}

// Forget returns the state with a context in which entries have faded. It does not change
// s. last is the newest blob that the context refers to.
func (s *State) Forget(context Context, last blobs.Hash) *State {
	next := *s
	next.Context, next.LastBlob = context, last
	return &next
}

// Forgot returns the state without the oldest n of Forgets, which were carried out. It does not change s.
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
