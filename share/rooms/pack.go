package rooms

import (
	"cmp"
	"context"
	"errors"
	"sort"
	"time"

	"lethe/share"
)

// mostLoose is how many old entries stay out of packs, so that packs are large.
const mostLoose = 1000

// pack gathers the entries that are older than unpacked, when there are many. It looks for them once an hour, and
// not in a process that has just begun.
func (r *Rooms) pack(ctx context.Context) error {
	r.mu.Lock()
	newest, last := r.done, r.packed
	if time.Since(last) > time.Hour {
		r.packed = time.Now()
	}
	r.mu.Unlock()
	if last.IsZero() || time.Since(last) < time.Hour {
		return nil
	}
	young, failed := time.Now().Add(-unpacked), error(nil)
	old := sort.Search(newest, func(k int) bool {
		var e entry
		text, err := r.Streams.Get(ctx, Stream, k+1)
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
	if _, err := r.Streams.Get(ctx, Stream, old-mostLoose); err == nil {
		failed = r.Streams.Pack(ctx, Stream, old, never)
	}
	return failed
}
