// Package streams keeps the streams of a home in a store of package share. They are sealed, so that its hosts alone can
// read them. Old texts are gathered in packs, and large ones are in pieces.
//
//	s := &streams.Streams{Store: store, Keys: keys}
//	err := s.Create(ctx, "lives/51c0…", 7, text) // share.ErrTaken: another host made number 7
//	at, err := s.Each(ctx, "lives/51c0…", at, func(n int, text []byte, err error) error { … })
//
// A sealed text begins with its stream and its number, so that a store cannot pass one off as another. docs/share.md
// specifies the forms.
package streams

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lethe/agent/share"
	"lethe/blobs"
	"lethe/internal/seal"
)

// Host names a host of a home by a number of its own, and by the name of the machine.
type Host struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Streams are the streams of a home.
type Streams struct {
	share.Store
	Keys *seal.Keys // nil: texts are stored as they are
	Only bool       // read: a salt that is missing is not made

	opens atomic.Bool // the keys have opened a text, so they are the home's

	salted sync.Mutex
	secret []byte // in the names of large texts, once it is known
}

// MaxText bounds a text, in bytes: sealed, it fits into a message of an engine. PutLarge stores longer ones.
const MaxText = 640 << 10

// ErrDamaged is wrapped when a text is not as it was written.
var ErrDamaged = errors.New("a text of the store is damaged")

func head(stream string, n int) []byte { return fmt.Appendf(nil, "lethe %s %d\n", stream, n) }

// Sealed returns a text as it is stored with number n of a stream: other bytes each time.
func (s *Streams) Sealed(stream string, n int, text []byte) ([]byte, error) {
	return s.Keys.Seal(append(head(stream, n), text...))
}

// Create makes text n of a stream durable, or returns share.ErrTaken where another text has the number. After
// share.ErrAway it may be there or not, and another Create does not know it for its own: see Sealed.
func (s *Streams) Create(ctx context.Context, stream string, n int, text []byte) error {
	data, err := s.Sealed(stream, n, text)
	if err != nil {
		return err
	}
	return s.Store.Create(ctx, stream, n, data)
}

// CreateNewest is Create for a stream that forgets numbers. It also returns share.ErrTaken if the text is not the
// newest one then: the store had forgotten the number, and this host was asleep.
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
		data, err = s.Keys.Open(data)
		text, ours := bytes.CutPrefix(data, head(stream, n))
		switch {
		case err == nil && ours:
			s.opens.Store(true)
		case err == nil:
			err = fmt.Errorf("%w: it is another text", ErrDamaged)
		case errors.Is(err, seal.ErrOther):
		case s.opens.Load() || !errors.Is(err, seal.ErrKey):
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		data = text
	}
	if err != nil {
		return nil, fmt.Errorf("read text %d of %s: %w", n, stream, err)
	}
	return data, nil
}

// At is a place in a stream: the number of a text, and the generation of packs that it was read in.
type At struct {
	N   int `json:"n"`
	Gen int `json:"gen,omitempty"`
}

// ErrAnew says that a stream was made anew since it was read, as by an erasure: the caller forgets what it has, and reads the
// stream from its beginning.
var ErrAnew = errors.New("the stream was made anew")

// Unreadable reports whether an error says that a text is missing or damaged, and not that the store is away.
func Unreadable(err error) bool {
	missing := share.IsMissing(err) || errors.Is(err, ErrLess)
	damaged := errors.Is(err, ErrDamaged) || errors.Is(err, share.ErrDamaged)
	return missing || damaged
}

// Visit is called for a text, or with the error that it has instead.
type Visit func(n int, text []byte, err error) error

// Each calls f for each text of a stream behind a place, in order, and returns the place of the last one. A text that is
// Unreadable comes with its error.
func (s *Streams) Each(ctx context.Context, stream string, from At, f Visit) (At, error) {
	newest, err := s.newestBehind(ctx, stream, from)
	if err != nil || newest <= from.N {
		return from, err
	}
	h, err := s.shelf(ctx, stream, from.Gen)
	if err == nil && from.N == 0 {
		err = h.search(ctx)
	}
	if err != nil {
		return from, err
	}
	if from.N > 0 && from.Gen != h.gen {
		return from, fmt.Errorf("read %s: %w", stream, ErrAnew)
	}
	from.Gen, h.newest = h.gen, newest
	if h.to > from.N {
		if from.N, err = h.scan(ctx, from.N, f); err != nil {
			return from, err
		}
	}
	return s.scanOn(ctx, stream, from, newest, f)
}

// Since is the time since t by the clock that goes on the most: the machine may have slept.
func Since(t time.Time) time.Duration { return max(time.Since(t), time.Now().Round(0).Sub(t.Round(0))) }

// freshFor is the time in which a host trusts that a stream ended where it saw it end: a Rewrite leaves numbers taken for
// longer.
var freshFor = 2 * time.Second

// ScanLately is Each for a caller that knows that packs hold no text behind a place, except those of a Rewrite, and at
// what time the stream ended there. It lists nothing.
func (s *Streams) ScanLately(ctx context.Context, stream string, from At, known time.Time, f Visit) (At, error) {
	begun := from
	for {
		text, err := s.Get(ctx, stream, from.N+1)
		if share.IsMissing(err) {
			break
		}
		if err != nil && !Unreadable(err) {
			return from, err
		}
		if err = f(from.N+1, text, err); err != nil {
			return from, err
		}
		from.N++
	}
	if Since(known) < freshFor && from == begun {
		return from, nil
	}
	ends, err := s.endsAt(ctx, stream, from.N)
	if err == nil && !ends { // or it is in a pack
		return s.Each(ctx, stream, from, f)
	}
	if err == nil {
		err = s.still(ctx, stream, from.Gen)
	}
	return from, err
}

// endsAt reports whether the store has text n of a stream, and seems to have lost none behind it.
func (s *Streams) endsAt(ctx context.Context, stream string, n int) (ends bool, err error) {
	isThere, isGap := true, false
	if n > 0 {
		isThere, err = s.Has(ctx, stream, n)
	}
	if err == nil {
		isGap, err = s.Has(ctx, stream, n+2)
	}
	return isThere && !isGap, err
}

// Has reports whether the store has text n of a stream, which a pack may have, too. It lists nothing.
func (s *Streams) Has(ctx context.Context, stream string, n int) (bool, error) {
	_, err := s.Store.Get(ctx, stream, n)
	has := err == nil || errors.Is(err, share.ErrDamaged)
	if has || share.IsMissing(err) {
		err = nil
	}
	return has, err
}

// still returns ErrAnew if a stream has a later generation of packs.
func (s *Streams) still(ctx context.Context, stream string, gen int) error {
	isLater, err := s.Has(ctx, generations(stream), gen+1)
	if isLater {
		err = ErrAnew
	}
	return err
}

// CreateLately is CreateNewest behind a place for which ScanLately is right. It lists nothing, and only creates where the
// stream ended there a moment ago.
func (s *Streams) CreateLately(ctx context.Context, stream string, behind At, known time.Time, text []byte) (err error) {
	ends := true
	if Since(known) >= freshFor {
		ends, err = s.endsAt(ctx, stream, behind.N)
	}
	if err == nil && !ends {
		err = share.ErrTaken
	}
	if err == nil {
		err = s.Create(ctx, stream, behind.N+1, text)
	}
	if err == nil && Since(known) >= freshFor { // or this host was asleep
		err = s.still(ctx, stream, behind.Gen)
	}
	if err == ErrAnew {
		err = share.ErrTaken
	}
	return err
}

// ErrLess says that the store has less than it had.
var ErrLess = errors.New("the store has less than it had: it is not mounted, was emptied, or is another one")

// newestBehind is Newest of a stream that was read up to a place, or ErrLess: an unmounted directory has no texts.
func (s *Streams) newestBehind(ctx context.Context, stream string, from At) (int, error) {
	newest, err := s.Newest(ctx, stream, from.N)
	if err != nil {
		return newest, err
	}
	if newest == 0 && from.N > 0 {
		return 0, fmt.Errorf("read %s: %w", stream, ErrLess)
	}
	return newest, nil
}

// Holds returns ErrLess unless the store has the text with number n of a stream.
func (s *Streams) Holds(ctx context.Context, stream string, n int) error {
	_, err := s.Get(ctx, stream, n)
	if !share.IsMissing(err) {
		return err
	}
	h, err := s.shelf(ctx, stream, 0)
	if err == nil && h.to < n {
		err = fmt.Errorf("look for text %d of %s: %w", n, stream, ErrLess)
	}
	return err
}

func (s *Streams) scanOn(ctx context.Context, stream string, from At, newest int, f Visit) (At, error) {
	for looked := false; from.N < newest; from.N++ {
		n := from.N + 1
		text, err := s.Get(ctx, stream, n)
		if share.IsMissing(err) && !looked { // it was packed meanwhile
			if h, herr := s.shelf(ctx, stream, from.Gen); herr == nil && h.to >= n {
				return s.Each(ctx, stream, from, f)
			}
			looked = true
		}
		if share.IsMissing(err) {
			err = fmt.Errorf("read text %d of %s: %w: it is missing", n, stream, ErrDamaged)
		}
		if err != nil && !Unreadable(err) {
			return from, err
		}
		if err = f(n, text, err); err != nil {
			return from, err
		}
	}
	return from, nil
}

// large names the stream that has the pieces of a large text. The name tells nothing to somebody who cannot open it.
func (s *Streams) large(ctx context.Context, stream string, hash blobs.Hash) (string, error) {
	salt, err := s.salt(ctx)
	return stream + "/texts/" + blobs.Sum(append(salt, hash[:]...)).String(), err
}

const saltStream = "salt"

// salt returns the secret part of the names of large texts, the one text of a stream. Without keys it is empty.
func (s *Streams) salt(ctx context.Context) ([]byte, error) {
	s.salted.Lock()
	defer s.salted.Unlock()
	if s.Keys == nil || s.secret != nil {
		return slices.Clip(s.secret), nil
	}
	secret, err := s.Get(ctx, saltStream, 1)
	if share.IsMissing(err) && !s.Only {
		err = s.Create(ctx, saltStream, 1, []byte(rand.Text()))
		if err == nil || share.IsTaken(err) {
			secret, err = s.Get(ctx, saltStream, 1)
		}
	}
	if err == nil {
		s.secret = slices.Clip(secret)
	}
	return s.secret, err
}

// PutLarge stores a text of any length; a stream refers to it by its hash. Called again, it goes on where it was cut
// short.
func (s *Streams) PutLarge(ctx context.Context, stream string, hash blobs.Hash, text []byte) error {
	name, err := s.large(ctx, stream, hash)
	for n := 1; err == nil; n++ {
		piece := text[:min(len(text), MaxText)]
		text = text[len(piece):]
		end := byte('+')
		if len(text) == 0 {
			end = '.'
		}
		err = s.Create(ctx, name, n, append([]byte{end}, piece...))
		if share.IsTaken(err) {
			err = nil
		}
		if end == '.' {
			break
		}
	}
	return err
}

// Large returns the text that PutLarge stored.
func (s *Streams) Large(ctx context.Context, stream string, hash blobs.Hash) (text []byte, err error) {
	name, err := s.large(ctx, stream, hash)
	for n := 1; err == nil; n++ {
		var piece []byte
		piece, err = s.Get(ctx, name, n)
		if len(piece) > 0 {
			text = append(text, piece[1:]...)
		}
		if !bytes.HasPrefix(piece, []byte("+")) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// DropLarge removes a text that PutLarge stored.
func (s *Streams) DropLarge(ctx context.Context, stream string, hash blobs.Hash) error {
	name, err := s.large(ctx, stream, hash)
	if err == nil {
		err = s.Drop(ctx, name)
	}
	return err
}

// KeepLarge removes the large texts of a stream but those to keep. Nobody may store one meanwhile.
func (s *Streams) KeepLarge(ctx context.Context, stream string, keep []blobs.Hash) error {
	var names []string
	for _, hash := range keep {
		name, err := s.large(ctx, stream, hash)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	return s.dropBelow(ctx, stream+"/texts/", names...)
}
