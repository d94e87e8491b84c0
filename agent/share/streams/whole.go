package streams

import (
	"context"
	"fmt"
	"os"
	"slices"

	"lethe/agent/share"
	"lethe/blobs"
)

// Whole looks by listings whether the store has all texts of a stream up to a place. The error is Unreadable where it
// lacks some: it names the first. It is ErrAnew in a later generation. A text that is there may be damaged.
func (s *Streams) Whole(ctx context.Context, stream string, upto At) error {
	h, err := s.shelf(ctx, stream, upto.Gen)
	if err != nil {
		return err
	}
	if h.gen > upto.Gen {
		return fmt.Errorf("look for all of %s: %w", stream, ErrAnew)
	}
	packed, err := s.Numbers(ctx, h.name)
	if err != nil {
		return err
	}
	if n := firstGap(packed, 1, h.last); n > 0 {
		return fmt.Errorf("pack %d of %s: %w", n, stream, share.ErrMissing)
	}
	loose, err := s.Numbers(ctx, stream)
	if err != nil {
		return err
	}
	if n := firstGap(loose, h.to+1, upto.N); n > 0 {
		return fmt.Errorf("text %d of %s: %w", n, stream, share.ErrMissing)
	}
	return nil
}

// firstGap returns the first number from one to another that is not there, or 0.
func firstGap(there []int, from, to int) int {
	slices.Sort(there)
	for n := from; n <= to; n++ {
		if _, found := slices.BinarySearch(there, n); !found {
			return n
		}
	}
	return 0
}

// PutMissing stores those of some large texts of a stream that the store lacks; files have them on this disk. It
// lists, and reads from the store only if some may be damaged there. It returns how many it stored, and passes over a
// file that does not have its text any more.
func (s *Streams) PutMissing(
	ctx context.Context, stream string, files map[blobs.Hash]string, mayBeDamaged bool,
) (stored int, err error) {
	there, err := s.List(ctx, stream+"/texts/")
	if err != nil {
		return 0, err
	}
	for hash, file := range files {
		name, err := s.large(ctx, stream, hash)
		if err != nil {
			return stored, err
		}
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		_, listed := slices.BinarySearch(there, name)
		if listed {
			err = s.hasLarge(ctx, name, info.Size())
		}
		isThere := listed && err == nil
		if isThere && mayBeDamaged {
			var text []byte
			text, err = s.Large(ctx, stream, hash)
			isThere = err == nil && blobs.Sum(text) == hash
		}
		if err != nil && !Unreadable(err) {
			return stored, err
		}
		if isThere {
			continue
		}
		text, err := os.ReadFile(file)
		hasChanged := err != nil || blobs.Sum(text) != hash
		if hasChanged {
			continue
		}
		if listed {
			err = s.Drop(ctx, name)
		}
		if err == nil {
			err = s.PutLarge(ctx, stream, hash, text)
		}
		if err != nil {
			return stored, err
		}
		stored++
	}
	return stored, nil
}

// hasLarge returns an error if a piece of a large text of so many bytes is missing.
func (s *Streams) hasLarge(ctx context.Context, name string, size int64) error {
	if size <= MaxText { // it is listed, so its one piece is there
		return nil
	}
	pieces, err := s.Numbers(ctx, name)
	if err == nil && firstGap(pieces, 1, int((size+MaxText-1)/MaxText)) > 0 {
		err = share.ErrMissing
	}
	return err
}
