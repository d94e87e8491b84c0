// Package streams keeps the streams of a home in a store of package share: sealed so that its hosts alone can read them,
// with old texts gathered in packs, and large ones in pieces.
//
//	s := &streams.Streams{Store: store, Keys: keys}
//	err := s.Create(ctx, "lives/51c0…", 7, text)      // share.ErrTaken: somebody else made number 7
//	err = s.Scan(ctx, "lives/51c0…", 6, func(n int, text []byte) error { … })
//
// A sealed text begins with its stream and its number, so that a store cannot pass one off as another. docs/share.md
// specifies the forms.
package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"lethe/blobs"
	"lethe/share"
)

// Host names one of the hosts of a home: a number that no other has, and what people call the machine.
type Host struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Streams are the streams of a home.
type Streams struct {
	share.Store
	Keys *Keys // nil: texts are stored as they are
}

// MaxText bounds a text, in bytes, so that it fits into a message of an engine when it is sealed. What may be longer is
// stored with PutLarge.
const MaxText = 640 << 10

// ErrDamaged is wrapped when a text is not as it was written.
var ErrDamaged = errors.New("a text of the store is damaged")

func head(stream string, n int) []byte { return fmt.Appendf(nil, "lethe %s %d\n", stream, n) }

// Sealed returns a text as it is stored with number n of a stream: other bytes each time.
func (s *Streams) Sealed(stream string, n int, text []byte) ([]byte, error) {
	return s.Keys.sealed(append(head(stream, n), text...))
}

// Create makes a text the one with number n of a stream, durably. It is share.ErrTaken where there is another one. After
// share.ErrAway it may be there or not, and Create again does not know it for its own: see Sealed.
func (s *Streams) Create(ctx context.Context, stream string, n int, text []byte) error {
	data, err := s.Sealed(stream, n, text)
	if err != nil {
		return err
	}
	return s.Store.Create(ctx, stream, n, data)
}

// CreateNewest is Create where numbers are forgotten: the text has to be the newest then, or one that a host that was
// asleep has created anew is taken for it.
func (s *Streams) CreateNewest(ctx context.Context, stream string, n int, text []byte) error {
	err := s.Create(ctx, stream, n, text)
	if err != nil {
		return err
	}
	newest, err := s.Newest(ctx, stream, n)
	if err == nil && newest > n {
		err = share.ErrTaken
	}
	return err
}

// Get returns the text with number n of a stream, which no pack holds.
func (s *Streams) Get(ctx context.Context, stream string, n int) ([]byte, error) {
	data, err := s.Store.Get(ctx, stream, n)
	if err == nil {
		data, err = s.Keys.opened(data)
		text, ours := bytes.CutPrefix(data, head(stream, n))
		if err == nil && !ours {
			err = errors.New("it is another text")
		}
		if err != nil && !errors.Is(err, ErrKey) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		data = text
	}
	if err != nil {
		return nil, fmt.Errorf("read text %d of %s: %w", n, stream, err)
	}
	return data, nil
}

// Scan calls f for each text of a stream behind number after, in order, and returns the number of the last one.
func (s *Streams) Scan(ctx context.Context, stream string, after int, f func(n int, text []byte) error) (int, error) {
	newest, err := s.Newest(ctx, stream, after)
	if err != nil || newest <= after {
		return after, err
	}
	h, err := s.shelf(ctx, stream)
	if err == nil && h.to > after {
		after, err = h.scan(ctx, after, f)
	}
	if err == nil {
		after, err = s.scanOn(ctx, stream, after, newest, f)
	}
	return after, err
}

// ScanLately is Scan for who knows that nothing behind after is in a pack; it asks the store for less.
func (s *Streams) ScanLately(ctx context.Context, stream string, after int, f func(n int, text []byte) error) (int, error) {
	newest, err := s.Newest(ctx, stream, after)
	if err == nil {
		after, err = s.scanOn(ctx, stream, after, newest, f)
	}
	return after, err
}

func (s *Streams) scanOn(
	ctx context.Context, stream string, after, newest int, f func(n int, text []byte) error,
) (int, error) {
	for ; after < newest; after++ {
		text, err := s.Get(ctx, stream, after+1)
		if errors.Is(err, share.ErrMissing) { // it was packed meanwhile
			if h, herr := s.shelf(ctx, stream); herr == nil && h.to > after {
				return s.Scan(ctx, stream, after, f)
			}
			err = fmt.Errorf("read text %d of %s: %w: it is missing", after+1, stream, ErrDamaged)
		}
		if err == nil {
			err = f(after+1, text)
		}
		if err != nil {
			return after, err
		}
	}
	return after, nil
}

// large is the stream of one text that is stored in pieces. Who cannot open it cannot tell from the name what it is.
func (s *Streams) large(h blobs.Hash) string {
	name := h[:]
	if s.Keys != nil {
		name = append(s.Keys.salt[:], name...)
	}
	return "texts/" + blobs.Sum(name).String()
}

// PutLarge stores a text of any length under its hash. Done again, it goes on where it was cut short.
func (s *Streams) PutLarge(ctx context.Context, h blobs.Hash, text []byte) error {
	for n := 1; ; n++ {
		piece := text[:min(len(text), MaxText)]
		text = text[len(piece):]
		end := byte('+')
		if len(text) == 0 {
			end = '.'
		}
		err := s.Create(ctx, s.large(h), n, append([]byte{end}, piece...))
		if err != nil && !errors.Is(err, share.ErrTaken) || end == '.' {
			if errors.Is(err, share.ErrTaken) {
				err = nil
			}
			return err
		}
	}
}

// Large returns the text that PutLarge stored.
func (s *Streams) Large(ctx context.Context, h blobs.Hash) (text []byte, err error) {
	for n := 1; ; n++ {
		piece, err := s.Get(ctx, s.large(h), n)
		if err != nil {
			return nil, err
		}
		if len(piece) > 0 {
			text = append(text, piece[1:]...)
		}
		if !bytes.HasPrefix(piece, []byte("+")) {
			return text, nil
		}
	}
}

// DropLarge removes what PutLarge stored.
func (s *Streams) DropLarge(ctx context.Context, h blobs.Hash) error { return s.Drop(ctx, s.large(h)) }
