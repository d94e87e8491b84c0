package rooms

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/share/streams"
)

// Settle has the file of steps hold no lines: what is to be erased from rooms stands in the rooms alone then.
func (r *Rooms) Settle(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error {
		s.step.Rooms = nil
		return s.write()
	})
}

// Erased has the store hold of rooms what the files in share do, from which something was erased, and nothing else.
func (r *Rooms) Erased(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error {
		if err := s.sync(nil); err != nil {
			return err
		}
		// The newest entry stays as it is: this one has no lines.
		err := s.add([]item{{Room: askedRoom, lines: []byte("{}\n")}})
		size := map[string]int{}
		var large []blobs.Hash
		if err == nil {
			s.step.Gen, err = s.Streams.Rewrite(ctx, Stream, never, func(text []byte) ([]byte, error) {
				e, err := decode(text)
				if err == nil {
					err = s.fetch(e.Items)
				}
				for k := range e.Items {
					if err == nil {
						i := &e.Items[k]
						large = append(large, i.Files...)
						err = s.masked(i, size)
					}
				}
				return e.encode(), err
			})
		}
		if err == nil {
			s.step.Rooms = nil
			err = s.write()
		}
		for _, h := range large {
			if err == nil {
				err = s.replace(h)
			}
		}
		if err != nil {
			err = fmt.Errorf("erase from what is stored of rooms: %w", err)
		}
		return err
	})
}

func never([]byte) bool { return false }

// askedRoom is one of the rooms that no person sees.
const askedRoom = ".asked"

// masked gives an item the lines that stand in the file of the room now.
func (s *round) masked(i *item, size map[string]int) error {
	now, _, err := tail(Path(s.Dir, i.Room), int64(size[i.Room]))
	if err != nil || len(now) < len(i.lines) {
		return fmt.Errorf("room %s is shorter than it was: %w", i.Room, err)
	}
	size[i.Room] += len(i.lines)
	same := bytes.Equal(now[:len(i.lines)], i.lines)
	i.lines = now[:len(i.lines)]
	if i.Large.IsZero() || same {
		return nil
	}
	if err := s.Streams.DropLarge(s.ctx, Stream, i.Large); err != nil {
		return err
	}
	i.Large = blobs.Sum(i.lines)
	return s.Streams.PutLarge(s.ctx, Stream, i.Large, i.lines)
}

// replace has the store hold of a file that a line names what this disk does.
func (s *round) replace(h blobs.Hash) error {
	text, err := os.ReadFile(s.Store.Path(h))
	if err != nil || blobs.Sum(text) == h {
		return nil // it is not here, or as it was
	}
	if err := s.Streams.DropLarge(s.ctx, Stream, h); err != nil {
		return err
	}
	return s.Streams.PutLarge(s.ctx, Stream, h, text)
}

// Reread takes out of the rooms here what was erased from them elsewhere.
func (r *Rooms) Reread(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error {
		if err := s.sync(nil); err != nil {
			return err
		}
		return s.reread()
	})
}

func (s *round) reread() error {
	size := map[string]int{}
	at, err := s.Streams.Scan(s.ctx, Stream, streams.At{}, func(n int, text []byte) error {
		if n > s.step.N {
			return io.EOF
		}
		e, err := decode(text)
		if err == nil {
			err = s.fetch(e.Items)
		}
		for _, i := range e.Items {
			at := size[i.Room]
			size[i.Room] += len(i.lines)
			for _, path := range []string{Path(s.Dir, i.Room), chat.Path(s.Dir, i.Room)} {
				there, _, terr := tail(path, int64(at))
				if err == nil && terr == nil && len(there) >= len(i.lines) && !bytes.HasPrefix(there, i.lines) {
					err = chat.Erase(path, durable.Piece{At: int64(at), Data: i.lines})
				}
			}
		}
		return err
	})
	if err == nil || err == io.EOF {
		s.step = step{At: streams.At{N: s.step.N, Gen: at.Gen}}
		err = s.write()
	}
	return err
}
