// Package check tells whether what is on disk is what was written, and mends what can be mended.
package check

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/internal/lazy"
	"lethe/life"
)

// Reach calls f once for each blob that the first end bytes of a life's LIFE refer to: those that lines
// name, what snapshots, cards and originals name beside them, and the parents of what it has taken
// over from an ancestor, down to the boot blob. It holds all their addresses. It goes on
// behind what is missing or damaged, and returns an error for that at the end, which
// wraps blobs.ErrNotFound or blobs.ErrDigest; an error of f ends it.
func Reach(id agent.Identity, store *blobs.Store, end int64, f func(blobs.Hash) error) error {
	all, err := list(store)
	if err != nil {
		return err
	}
	lost, first := 0, error(nil)
	r := newReacher(id, all, f, func(_ blobs.Hash, err error) { lost, first = lost+1, cmp.Or(first, err) })
	err = all.scan(id, func(e life.Event, offset int64) error {
		if offset >= end {
			return nil
		}
		return r.line(e)
	})
	if err == nil && lost > 0 {
		err = fmt.Errorf("%s refers to blobs that are missing or damaged: %d, the first: %w", id.Name, lost, first)
	}
	return err
}

// listing are the addresses of a store, in order, so that a search lists no directory.
type listing struct {
	*blobs.Store
	sorted []blobs.Hash
}

func list(store *blobs.Store) (l listing, err error) {
	l.Store = store
	err = store.Each(func(h blobs.Hash) error { l.sorted = append(l.sorted, h); return nil })
	slices.SortFunc(l.sorted, func(a, b blobs.Hash) int { return bytes.Compare(a[:], b[:]) })
	return l, err
}

// end is where the log of a life ends: before a torn end. Of a damaged one it is not known, and the damage is found by who reads it.
func (l listing) end(id agent.Identity) int64 {
	log, err := agent.View(id, l.Store)
	if err != nil {
		return math.MaxInt64
	}
	defer log.Close()
	return log.Size()
}

// scan is life.Scan up to there.
func (l listing) scan(id agent.Identity, f func(e life.Event, offset int64) error) error {
	end := l.end(id)
	return life.Scan(id.LIFE(), func(e life.Event, offset int64) error {
		if offset >= end {
			return nil
		}
		return f(e, offset)
	})
}

// find is Resolve, also of what was stored since. An address that is not there ends in zeros.
func (l listing) find(short string) (h blobs.Hash, err error) {
	_, _ = hex.Decode(h[:], []byte(short+strings.Repeat("0", len(short)%2)))
	i, _ := slices.BinarySearchFunc(l.sorted, h, func(a, b blobs.Hash) int { return bytes.Compare(a[:], b[:]) })
	fits := func(i int) bool { return i < len(l.sorted) && strings.HasPrefix(l.sorted[i].String(), short) }
	if len(short) >= blobs.MinPrefix && fits(i) && !fits(i+1) {
		return l.sorted[i], nil
	}
	found, err := l.Resolve(short)
	if err != nil {
		return h, err
	}
	return found, nil
}

// reacher walks what a life refers to.
type reacher struct {
	listing
	f    func(blobs.Hash) error
	err  error               // of f, which is then called no more
	seen map[blobs.Hash]bool // true: what its text names was followed
	own  map[string]bool     // the identity and its ancestors
	miss func(blobs.Hash, error)
}

func newReacher(id agent.Identity, all listing, f func(blobs.Hash) error, miss func(blobs.Hash, error)) *reacher {
	return &reacher{listing: all, f: f, seen: map[blobs.Hash]bool{}, own: map[string]bool{id.Self: true}, miss: miss}
}

func (r *reacher) line(e life.Event) error {
	for i, ref := range e.Refs {
		switch h, err := r.find(ref.Hash); {
		case err != nil:
			r.miss(h, err)
		case e.Kind == life.Epoch, e.Kind == "boot", e.Kind == "fade" && i == 0: // a fade's second ref is a summary
			r.follow(h, true)
		default:
			r.visit(h)
		}
	}
	for _, address := range slices.Concat(e.All("hash"), e.All("ref"), e.All("opened")) { // what it was granted, reminded of and shown
		if h, err := blobs.ParseHash(address); err == nil && r.Has(h) {
			r.visit(h)
		}
	}
	return r.err
}

func (r *reacher) visit(h blobs.Hash) {
	if _, before := r.seen[h]; !before && r.err == nil {
		r.seen[h] = false
		r.err = r.f(h)
	}
}

// names finds what a snapshot names, refs in originals, and what a card lists.
var names = lazy.Regexp(`"([0-9a-f]{64})"[,\n]|◱hash=([0-9a-f]{16,64}) gist=(?:SEGMENT|SUMMARISE)\.md◲|◱hash=([0-9a-f]{12,64}) |(?m:^)hash=([0-9a-f]{12,64}) gist=`)

// follow visits a blob, what its text names, and its parents. Trusted is what Lethe has written; what
// anybody could have written into a text names blobs of the life and its ancestors only.
func (r *reacher) follow(h blobs.Hash, trusted bool) {
	for !r.seen[h] && !h.IsZero() && r.err == nil {
		b, err := r.Get(h)
		ours := b.Life == "" || r.own[b.Life]
		switch {
		case err != nil:
			r.miss(h, err)
			return
		case !ours && trusted:
			r.visit(h)
			return
		case !ours:
			return
		}
		r.visit(h)
		r.seen[h] = true
		if self, _, fork := strings.Cut(b.Fork, ":"); fork {
			r.own[self] = true
			r.named(self, true)
		}
		epoch := strings.HasPrefix(b.Gist, "epoch ")
		for _, m := range names().FindAllSubmatch(b.Body, -1) {
			if len(m[1]) == 0 || epoch {
				r.named(string(bytes.Join(m[1:], nil)), epoch && len(m[1])+len(m[2]) > 0)
			}
		}
		if h = b.Parent; r.known(h) {
			return
		}
	}
}

func (r *reacher) known(h blobs.Hash) bool { _, known := r.seen[h]; return known }

// named follows what a text names, if it is new.
func (r *reacher) named(short string, trusted bool) {
	if h, err := r.find(short); (err == nil || trusted) && !r.known(h) {
		r.follow(h, trusted)
	}
}
