package rooms

import (
	"cmp"
	"errors"
	"sort"
	"time"

	"lethe/agent/share"
)

// mostLoose is how many old entries stay out of packs, so that packs are large.
const mostLoose = 1000

// pack gathers the entries that are older than unpacked, when there are many. It looks for them once an hour, and not in a
// process that has just begun.
func (s *round) pack() error {
	last := s.packed
	if time.Since(last) < time.Hour {
		return nil
	}
	if s.packed = time.Now(); last.IsZero() {
		return nil
	}
	young, failed := time.Now().Add(-unpacked), error(nil)
	old := sort.Search(s.step.N, func(k int) bool {
		var e entry
		text, err := s.Streams.Get(s.ctx, Stream, k+1)
		if err == nil {
			e, err = decode(text)
		}
		if !errors.Is(err, share.ErrMissing) { // it is in a pack
			failed = cmp.Or(failed, err)
		}
		return e.At.After(young)
	})
	if old <= mostLoose || failed != nil {
		return failed
	}
	if _, err := s.Streams.Get(s.ctx, Stream, old-mostLoose); err == nil {
		failed = s.Streams.Pack(s.ctx, Stream, old, never)
	}
	return failed
}
