package check

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/lazy"
	"lethe/life"
)

// Reach calls f once for each blob that the first end bytes of a life's LIFE refer to: those that lines name,
// what snapshots, cards and originals name beside them, and the parents of what it has taken over from an
// ancestor, down to the boot blob. It holds all their addresses. It goes on behind what is missing or damaged,
// and returns an error for that at the end, which wraps blobs.ErrNotFound or blobs.ErrDigest; an error of f
// ends it.
func Reach(id home.Identity, store *blobs.Store, end int64, f func(blobs.Hash) error) error {
	all, err := list(store)
	if err != nil {
		return err
	}
	return all.reach(id, end, f)
}

func (l listing) reach(id home.Identity, end int64, f func(blobs.Hash) error) error {
	r := newReacher(id, l, f)
	lost := 0
	var first error
	r.miss = func(_ blobs.Hash, err error) { lost, first = lost+1, cmp.Or(first, err) }
	err := r.read(end, func(*life.Reader, life.Event, bool) error { return nil })
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
	slices.SortFunc(l.sorted, compare)
	return l, err
}

func compare(a, b blobs.Hash) int { return bytes.Compare(a[:], b[:]) }

// find is Resolve, also of what was stored since. An address that is not there ends in zeros.
func (l listing) find(short string) (h blobs.Hash, err error) {
	_, _ = hex.Decode(h[:], []byte(short+strings.Repeat("0", len(short)%2)))
	i, _ := slices.BinarySearchFunc(l.sorted, h, compare)
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
	id   home.Identity
	f    func(blobs.Hash) error // nil: only lines are read
	miss func(blobs.Hash, error)
	err  error               // of f, which is then called no more
	seen map[blobs.Hash]bool // true: what its text names was followed
	own  map[string]bool     // the identity and its ancestors
}

func newReacher(id home.Identity, all listing, f func(blobs.Hash) error) *reacher {
	return &reacher{listing: all, id: id, f: f, seen: map[blobs.Hash]bool{}, own: map[string]bool{id.Self: true}}
}

// read calls each for the lines of LIFE, up to an offset and before a torn end, and then reaches what they refer to.
func (r *reacher) read(end int64, each func(log *life.Reader, line life.Event, follows bool) error) error {
	log, err := life.ReadFrom(r.id.LIFE(), life.Mark{})
	if err != nil {
		return err
	}
	defer log.Close()
	log.Until(min(end, r.end()))
	for {
		line, follows, err := log.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = each(log, line, follows)
		}
		if err == nil && r.f != nil {
			err = r.line(line)
		}
		if err != nil {
			return err
		}
	}
}

// end finds the end of the log, before a torn end. Of a damaged log it is unknown: its reader meets the damage.
func (r *reacher) end() int64 {
	log, err := home.View(r.id, r.Store)
	if err != nil {
		return math.MaxInt64
	}
	defer log.Close()
	return log.Size()
}

// line reaches what a line refers to: texts, and what the identity was granted, reminded of and shown.
func (r *reacher) line(line life.Event) error {
	for i, ref := range line.Refs {
		h, err := r.find(ref.Hash)
		summary := line.Kind == "fade" && i == 1
		switch {
		case err != nil:
			r.miss(h, err)
		case line.Kind == life.Epoch, line.Kind == "boot", line.Kind == "fade" && !summary:
			r.follow(h, true)
		default:
			r.visit(h)
		}
	}
	for _, address := range slices.Concat(line.All("hash"), line.All("ref"), line.All("opened")) {
		if h, err := blobs.ParseHash(address); err == nil && r.Has(h) {
			r.visit(h)
		}
	}
	return r.err
}

func (r *reacher) visit(h blobs.Hash) {
	if !r.known(h) && r.err == nil {
		r.seen[h] = false
		r.err = r.f(h)
	}
}

func (r *reacher) known(h blobs.Hash) bool { _, known := r.seen[h]; return known }

// names finds what a snapshot names, refs in originals, and what a card lists.
var names = lazy.Regexp(`"([0-9a-f]{64})"[,\n]|◱hash=([0-9a-f]{16,64}) gist=(?:SEGMENT|SUMMARISE)\.md◲|` +
	`◱hash=([0-9a-f]{12,64}) |(?m:^)hash=([0-9a-f]{12,64}) gist=`)

// follow visits a blob, what its text names, and its parents. Trusted is a text by Lethe itself; one
// that anybody could have written names blobs of the life and its ancestors only.
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
		epoch := isSnapshot(b)
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

func isSnapshot(b blobs.Blob) bool { return strings.HasPrefix(b.Gist, "epoch ") }

// named follows what a text names, if it is new.
func (r *reacher) named(short string, trusted bool) {
	if h, err := r.find(short); (err == nil || trusted) && !r.known(h) {
		r.follow(h, trusted)
	}
}
