package rooms

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"lethe/agent/share/streams"
	"lethe/blobs"
)

// Compare looks by listings whether the store has all entries that this host has read, and the files that lines name. It
// writes again what is missing, or all of it if texts may be damaged there; the other hosts then read the rooms anew.
func (r *Rooms) Compare(ctx context.Context, mayBeDamaged bool) error {
	return r.locked(ctx, func(s *round) error {
		if err := s.pull(); err != nil {
			return err
		}
		loss := s.Streams.Whole(ctx, Stream, s.step.At)
		isKnown := loss == nil || streams.Unreadable(loss)
		if !isKnown {
			return loss
		}
		if loss != nil {
			s.lose(loss)
		}
		if loss != nil || mayBeDamaged {
			if err := s.mend(); err != nil {
				return fmt.Errorf("write again what the store has lost of the rooms: %w", err)
			}
		}
		return s.putFiles(mayBeDamaged)
	})
}

func (s *round) lose(what error) {
	s.Log.Warn("the store has lost what was said; this host has it", "error", what)
	if s.OnLoss != nil {
		s.OnLoss(fmt.Errorf("rooms: %w", what))
	}
}

// mendTime is the time in which the first host that says so makes the stream anew.
const mendTime = time.Hour

// mend makes the stream anew, unless another host does so.
func (s *round) mend() error {
	if time.Since(s.mends) < mendTime {
		return nil
	}
	newest, err := s.Streams.Newest(s.ctx, Stream, 0)
	if err != nil {
		return err
	}
	if newest < s.step.N {
		if err := s.agrees(newest); err != nil {
			return err
		}
	}
	s.claims = true
	for n := newest + 1; n <= s.step.N; n++ { // numbers that readers know are made again
		made := entry{version, s.Host, streams.Nonce(), time.Now().UTC(), 0, nil, true}
		if err := s.Streams.Create(s.ctx, Stream, n, made.encode()); err != nil {
			return err
		}
	}
	return s.makeAnew()
}

// agrees returns an error unless the stream up to a number has the lines that stand here: the store was another one, or
// hosts wrote into it when it had lost its newest entries.
func (s *round) agrees(upto int) error {
	size := map[string]int64{}
	_, err := s.Streams.Each(s.ctx, Stream, streams.At{}, func(n int, text []byte, err error) error {
		var e entry
		if err == nil {
			e, err = decode(text)
		}
		if err == nil {
			err = s.fetch(e.Items)
		}
		if err != nil || n > upto {
			return err
		}
		for _, part := range e.Items {
			here, _, err := tail(Path(s.Dir, part.Room), size[part.Room], int64(len(part.lines)))
			if err != nil {
				return err
			}
			size[part.Room] += int64(len(part.lines))
			if !bytes.Equal(here, part.lines) && !masks(part.lines, here) {
				return fmt.Errorf("entry %d has other lines of room %s than this host: remove %s, and the rooms are read anew",
					n, part.Room, s.in(stepFile))
			}
		}
		return nil
	})
	return err
}

// putFiles stores again the files that lines name, where the store lacks them.
func (s *round) putFiles(mayBeDamaged bool) error {
	files := map[blobs.Hash]string{}
	for room := range s.step.Sizes {
		text, err := Said(s.Dir, room, 0)
		if err != nil {
			return err
		}
		for _, m := range mention().FindAllSubmatch(text, -1) {
			if hash, err := s.Store.Resolve(string(m[1])); err == nil {
				files[hash] = s.Store.Path(hash)
			}
		}
	}
	stored, err := s.Streams.PutMissing(s.ctx, Stream, files, mayBeDamaged)
	if stored > 0 {
		s.lose(fmt.Errorf("files: %d", stored))
	}
	return err
}
