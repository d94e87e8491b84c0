package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"lethe/blobs"
)

// What the blobs of one lookup may cost, whatever there is.
const (
	mostRead   = 32 << 20 // bytes that are read and verified
	mostRanked = 2 << 20  // bytes that are ranked
	mostBody   = 32 << 10 // of those, of one body; of a longer one, the best segment
	reading    = 4        // at once

	fewSegments = 4 // an original that has no more is small
)

// opener reads the bodies of a lookup.
type opener struct {
	store   *blobs.Store
	self    string // the beginning of the life's address
	query   Query
	unknown []string
}

// lost is a document whose blob cannot be read.
type lost struct {
	candidate
	err error
}

// bodies reads the blobs of the documents, the best first, until enough is read.
// One that cannot be read is no candidate, and one that was found by words is
// lost. It ends with ctx, after the bodies that it is at.
func (h *shelf) bodies(ctx context.Context, from opener) ([]candidate, []lost, error) {
	h.afford(from.store)
	var wait sync.WaitGroup
	fits, errs := make([]bool, len(h.docs)), make([]error, len(h.docs))
	for k := range reading {
		wait.Go(func() { // ends with its share of the documents
			for i := k; i < len(h.docs) && ctx.Err() == nil; i += reading {
				errs[i] = protect(func() (err error) {
					fits[i], err = from.read(&h.docs[i], int(h.places[i].row-h.places[i].id))
					return err
				})
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var out []candidate
	var gone []lost
	size := 0
	for i, c := range h.docs {
		switch {
		case errors.Is(errs[i], errDamaged), errors.As(errs[i], new(*panicError)):
			return nil, nil, errs[i]
		case errs[i] != nil:
			gone = append(gone, lost{c, errs[i]})
		case fits[i] && size+len(c.body) <= mostRanked:
			size += len(c.body)
			out = append(out, c)
		}
	}
	return out, gone, nil
}

// afford keeps as many documents as may be read, and one in any case. How large
// one of few segments is need not be asked.
func (h *shelf) afford(store *blobs.Store) {
	kept, left := 0, int64(mostRead)
	for i, c := range h.docs {
		size := int64(fewSegments * wholeBytes)
		if h.places[i].segments > fewSegments {
			if fi, err := os.Stat(store.Path(c.hash)); err == nil { // who reads it will say why not
				size = fi.Size()
			}
		}
		if size > left && kept > 0 {
			continue
		}
		left -= size
		h.docs[kept], h.places[kept] = c, h.places[i]
		kept++
	}
	h.cut(kept)
}

// read makes a document what its verified blob says, whatever the index says of
// it: of the index are only when its entries were written, where no line of it has
// a time, and how often it was opened. segment is the one that fits best.
func (s opener) read(c *candidate, segment int) (fits bool, err error) {
	b, err := s.store.Get(c.hash)
	if err != nil {
		return false, err
	}
	if s.self == "" || !strings.HasPrefix(b.Life, s.self) {
		return false, fmt.Errorf("%w: %s is of another life", errDamaged, c.hash)
	}
	text := string(b.Body)
	f := factsOf(text)
	c.gist, c.rooms, c.tools, c.kinds = b.Gist, f.rooms, f.tools, f.kinds
	switch {
	case !f.last.IsZero():
		c.first, c.last = f.first, f.last
	case c.last.After(b.At), c.first.After(c.last):
		c.first, c.last = b.At, b.At
	}
	if !s.query.fits(*c) {
		return false, nil
	}
	list, cut := sections(text, c.tells...), cutOf(b.Body, segment)
	if from, to := entriesIn(list); to > 0 {
		c.from, c.to = from, to
	}
	fitting := s.query.parts(text, list, cut, f.first)
	c.parts, c.narrowed = fitting.parts, !fitting.all
	if c.narrowed && !fitting.last.IsZero() {
		c.first, c.last = fitting.first, fitting.last
	}
	c.body, c.head = text[cut.from:cut.to], utf8.RuneCountInString(text[:cut.from])
	switch held := len(s.unknown) > 0 && holds(c.body, s.unknown); {
	case !held:
		c.trigrams = 0
	case c.trigrams == 0:
		c.trigrams = insideShare // found otherwise, and to be looked at for it
	}
	return fitting.all || len(c.parts) > 0, nil
}

// entriesIn are the first and the last entry of some sections, 0 for none.
func entriesIn(list []section) (from, to int) {
	for _, s := range list {
		if s.entry > 0 && (from == 0 || s.entry < from) {
			from = s.entry
		}
		to = max(to, s.entry)
	}
	return from, to
}

func holds(body string, words []string) bool {
	folded := fold(body)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(folded, w) })
}

// cutOf is what is ranked of a body: all of it, or what is around a segment.
func cutOf(body []byte, segment int) span {
	if len(body) <= mostBody {
		return span{0, len(body)}
	}
	pieces := segments(body)
	segment = min(segment, len(pieces)-1)
	return span{pieces[max(0, segment-1)].from, pieces[min(segment+1, len(pieces)-1)].to}
}

// told are the lost originals that the log has been told of.
type told struct {
	mu   sync.Mutex
	refs map[blobs.Hash]bool
}

// mostTold bounds them: a store that has lost more has been told of.
const mostTold = 1000

// miss logs what cannot be read, each once, and tells the query of what words or
// vectors have found: neighbours of that are nothing that was asked for.
func (x *Index) miss(gone []lost, q Query) {
	for _, l := range gone {
		if x.told.first(l.hash) {
			x.log.Warn("a search came upon an original that cannot be read; put its file back from a copy",
				"hash", l.hash, "entries", fmt.Sprintf("e%d..e%d", l.from, l.to), "error", l.err)
		}
		if q.Lost != nil && cmp.Or(l.words, l.trigrams, float64(l.near)) > 0 {
			q.Lost(l.hash, l.err)
		}
	}
}

func (t *told) first(h blobs.Hash) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refs[h] || len(t.refs) >= mostTold {
		return false
	}
	if t.refs == nil {
		t.refs = map[blobs.Hash]bool{}
	}
	t.refs[h] = true
	return true
}
