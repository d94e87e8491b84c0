package rooms

import (
	"sort"
	"time"

	"lethe/agent/share"
)

// mostLoose bounds the old entries outside of packs, so that packs are large.
const mostLoose = 1000

// pack gathers entries that are older than unpacked, when there are many. It looks for them once an hour, and not in a
// process that has just begun.
func (s *round) pack() error {
	last := s.packed
	if time.Since(last) < time.Hour {
		return nil
	}
	if s.packed = time.Now(); last.IsZero() {
		return nil
	}
	young := time.Now().Add(-unpacked)
	var failed error
	old := sort.Search(s.step.N, func(k int) bool {
		if failed != nil {
			return true // the search ends, and asks for nothing more
		}
		var e entry
		text, err := s.Streams.Get(s.ctx, Stream, k+1)
		if err == nil {
			e, err = decode(text)
		}
		if err != nil && !share.IsMissing(err) { // a missing one is in a pack
			failed = err
		}
		return e.At.After(young)
	})
	if failed != nil || old <= mostLoose {
		return failed
	}
	_, err := s.Streams.Get(s.ctx, Stream, old-mostLoose)
	if share.IsMissing(err) {
		return nil // few are outside of packs
	}
	if err != nil {
		return err
	}
	return s.Streams.Pack(s.ctx, Stream, old, never)
}
