package rooms

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
)

// Settle removes copies of lines outside of rooms, before some are erased from rooms.
func (r *Rooms) Settle(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error {
		s.step.Rooms = nil
		err := s.save()
		for name, known := range s.replaced() {
			if err == nil {
				err = durable.Patch(filepath.Join(s.in(late), name), durable.Piece{Data: make([]byte, known)})
			}
		}
		return err
	})
}

// Erased makes the store hold rooms as the files in share do after an erasure, and nothing else. An entry tells the
// other hosts. After an error the caller calls it again.
func (r *Rooms) Erased(ctx context.Context) error {
	err := r.locked(ctx, (*round).makeAnew)
	if err != nil {
		err = fmt.Errorf("erase from what is stored of rooms: %w", err)
	}
	return err
}

// makeAnew makes all that is stored anew, by the files in share, with lines that the store has lost.
func (s *round) makeAnew() (err error) {
	for range 2 { // the newest entry stays as it is, and the one before it can have lines
		if err == nil {
			err = s.mark(0)
		}
	}
	if err == nil {
		err = s.rewriteAll()
	}
	if err == nil {
		err = s.mark(s.step.Gen)
	}
	return err
}

// mark adds an entry without lines.
func (s *round) mark(erased int) (err error) {
	for range 20 {
		if err = s.sync(true, true); err == nil {
			err = s.add(nil, erased)
		}
		if !share.IsTaken(err) {
			break
		}
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	return err
}

// rewriteAll rewrites the stream, and then drops large texts that nothing needs.
func (s *round) rewriteAll() error {
	size, needed := map[string]int64{}, map[blobs.Hash]bool{}
	var files []blobs.Hash
	n, end, gaps := 0, s.step.N, s.claims // empty entries stand for lost ones
	made := func(lost int, text []byte) ([][]byte, error) {
		n += lost + 1
		gaps = gaps || lost > 0
		e, err := decode(text)
		if err == nil {
			e.Items, err = s.stored(e.Items, &gaps)
		}
		isCut := gaps && n == end-1
		if err == nil && isCut {
			e.Items, err = s.rest(e.Items, size)
		}
		for k := range e.Items {
			part := &e.Items[k]
			if err == nil && gaps {
				err = s.fill(part, size[part.Room])
			}
			if err == nil {
				err = s.masked(part, size[part.Room])
			}
			size[part.Room] += int64(len(part.lines))
			needed[part.Large] = true
			files = append(files, part.Files...)
		}
		var all [][]byte
		for range lost {
			all = append(all, entry{version, s.Host, streams.Nonce(), e.At, 0, nil, false}.encode())
		}
		return append(all, e.encode()), err
	}
	gen, err := s.Streams.Rewrite(s.ctx, Stream, never, made)
	for _, hash := range files {
		if err == nil {
			err = s.replace(hash)
		}
	}
	for _, h := range s.step.Gone {
		if err == nil && !needed[h] {
			err = s.Streams.DropLarge(s.ctx, Stream, h)
		}
	}
	if err == nil {
		s.step.Gen, s.step.Gone, s.step.Rooms = gen, nil, nil
		err = s.save()
	}
	return err
}

// stored fetches the lines of items, and leaves out items whose lines are lost.
func (s *round) stored(items []item, gaps *bool) (all []item, err error) {
	for _, part := range items {
		one := []item{part}
		err := s.fetch(one)
		if streams.Unreadable(err) {
			*gaps = true
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// fill puts lines that the store has lost, and that stand in the file of the room at an offset, before an item's lines.
func (s *round) fill(part *item, at int64) error {
	here, _, err := tail(Path(s.Dir, part.Room), at, s.step.Sizes[part.Room]-at)
	if err != nil {
		return err
	}
	gap := bytes.Index(here, part.lines)
	if gap <= 0 {
		return nil
	}
	part.lines = here[:gap+len(part.lines)]
	return s.enlarge(part)
}

// rest adds items with the lines that the store has lost at the ends of rooms, behind offsets.
func (s *round) rest(items []item, size map[string]int64) ([]item, error) {
	for room, end := range s.step.Sizes {
		lines, _, err := tail(Path(s.Dir, room), size[room], end-size[room])
		if err != nil || len(lines) == 0 {
			continue // what cannot be read here is not written again
		}
		part, err := s.item(room, lines, false)
		if err != nil {
			return nil, err
		}
		items = append(items, part)
	}
	return items, nil
}

func never([]byte) bool { return false }

// masked gives an item the lines that stand in the file of the room at an offset, if they differ from its own only
// where something is erased.
func (s *round) masked(part *item, at int64) error {
	now, _, err := tail(Path(s.Dir, part.Room), at, int64(len(part.lines)))
	if err != nil {
		return err
	}
	if len(now) < len(part.lines) {
		return durable.ErrShort
	}
	if bytes.Equal(now, part.lines) || !masks(part.lines, now) {
		return nil
	}
	part.lines = now
	if part.Large.IsZero() {
		return nil
	}
	s.step.Gone = append(s.step.Gone, part.Large)
	part.Large = blobs.Sum(now)
	if err := s.save(); err != nil {
		return err
	}
	return s.Streams.PutLarge(s.ctx, Stream, part.Large, now)
}

// replace makes the store hold a file that a line names as this disk does.
func (s *round) replace(hash blobs.Hash) error {
	text, err := os.ReadFile(s.Store.Path(hash))
	if err != nil || blobs.Sum(text) == hash {
		return nil // it is not here, or as it was
	}
	if err := s.Streams.DropLarge(s.ctx, Stream, hash); err != nil {
		return err
	}
	return s.Streams.PutLarge(s.ctx, Stream, hash, text)
}
