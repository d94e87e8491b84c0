// Package check tells whether what is on disk is what was written.
package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life"
	"lethe/mind"
)

// Reach calls f once for each blob that a life refers to: those that lines of its LIFE
// name, what the snapshots of its epochs name beside them, what cards and originals list,
// and the parents of what it has taken over from an ancestor, down to the boot blob. It holds all
// their addresses. It goes on behind what is missing or damaged, and returns a *LostError for that
// at the end; an error of f ends it.
func Reach(id agent.Identity, store *blobs.Store, f func(blobs.Hash) error) error {
	all, err := list(store)
	if err != nil {
		return err
	}
	return all.reach(id, f)
}

// LostError says that a life refers to blobs that are missing or damaged.
type LostError struct {
	Name  string
	Count int
	First error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s refers to blobs that are missing or damaged: %d, the first: %v", e.Name, e.Count, e.First)
}

func (e *LostError) Unwrap() error { return e.First }

// listing are the addresses of a store, in order, so that a search lists no directory.
type listing struct {
	*blobs.Store
	sorted []blobs.Hash
}

func list(store *blobs.Store) (l listing, err error) {
	l.Store = store
	err = store.Each(func(h blobs.Hash) error { l.sorted = append(l.sorted, h); return nil })
	slices.SortFunc(l.sorted, func(a, b blobs.Hash) int { return slices.Compare(a[:], b[:]) })
	return l, err
}

// find is Resolve. What was stored since the listing is found, too.
func (l listing) find(short string) (blobs.Hash, error) {
	fits := func(i int) bool { return i < len(l.sorted) && strings.HasPrefix(l.sorted[i].String(), short) }
	i, _ := slices.BinarySearchFunc(l.sorted, short, func(h blobs.Hash, short string) int { return cmp.Compare(h.String(), short) })
	if len(short) >= blobs.MinPrefix && fits(i) && !fits(i+1) {
		return l.sorted[i], nil
	}
	return l.Resolve(short)
}

// reacher walks what a life refers to.
type reacher struct {
	listing
	f    func(blobs.Hash) error
	err  error               // of f, which is then called no more
	seen map[blobs.Hash]bool // true: what its text names was followed
	own  map[string]bool     // the identity and its ancestors
	lost LostError
}

func (l listing) reach(id agent.Identity, f func(blobs.Hash) error) error {
	r := reacher{listing: l, f: f, seen: map[blobs.Hash]bool{}, own: map[string]bool{id.Self: true}, lost: LostError{Name: id.Name}}
	err := life.Scan(id.LIFE(), r.line)
	if err == nil && r.lost.Count > 0 {
		err = &r.lost
	}
	return err
}

func (r *reacher) line(e life.Event, _ int64) error {
	for i, ref := range e.Refs {
		h, err := r.find(ref.Hash)
		switch {
		case err != nil:
			r.miss(err)
		case e.Kind == life.Epoch:
			r.follow(h, r.snapshot)
		case e.Kind == "boot":
			r.follow(h, r.boot)
		case e.Kind == "fade" && i == 0:
			r.follow(h, r.texts)
		default:
			r.visit(h)
		}
	}
	for _, key := range []string{"hash", "ref", "opened"} { // of grant, hint and result: what it was shown
		r.there(e.All(key)...)
	}
	return r.err
}

func (r *reacher) miss(err error) {
	r.lost.Count++
	r.lost.First = cmp.Or(r.lost.First, err)
}

func (r *reacher) visit(h blobs.Hash) {
	if _, before := r.seen[h]; !before && r.err == nil {
		r.seen[h] = false
		r.err = r.f(h)
	}
}

// there visits those of blobs, which may be of other lives, that are there.
func (r *reacher) there(addresses ...string) {
	for _, address := range addresses {
		if h, err := blobs.ParseHash(address); err == nil && r.Has(h) {
			r.visit(h)
		}
	}
}

// follow visits a blob, what its text names, and its parents.
func (r *reacher) follow(h blobs.Hash, names func(blobs.Blob)) {
	if r.seen[h] || r.err != nil {
		return
	}
	b, err := r.Get(h)
	if err != nil {
		r.miss(err)
		return
	}
	if !r.ours(b) {
		return
	}
	r.visit(h)
	r.seen[h] = true
	names(b)
	r.add(b.Parent)
}

// add visits a blob that no line has named before, and its parents.
func (r *reacher) add(h blobs.Hash) {
	for !h.IsZero() && r.err == nil {
		if _, before := r.seen[h]; before {
			return
		}
		b, err := r.Get(h)
		if err != nil {
			r.miss(err)
			return
		}
		if !r.ours(b) {
			return
		}
		r.visit(h)
		h = b.Parent
	}
}

// ours reports whether a blob is of the life, or an ancestor's: what somebody has written into a
// text names nothing else.
func (r *reacher) ours(b blobs.Blob) bool { return b.Life == "" || r.own[b.Life] }

// boot takes in whom a fork comes from, and whom that one does.
func (r *reacher) boot(b blobs.Blob) {
	self, _, _ := strings.Cut(b.Fork, ":")
	if h, err := blobs.ParseHash(self); err == nil {
		r.own[self] = true
		r.follow(h, r.boot)
	}
}

// snapshot visits what an epoch names.
func (r *reacher) snapshot(b blobs.Blob) {
	s := mind.New()
	if err := json.Unmarshal(b.Body, s); err != nil {
		r.miss(fmt.Errorf("read epoch %s: %w", b.Hash, err))
	}
	names := []*mind.Ref{{Hash: s.LastBlob}}
	for _, e := range s.Live {
		names = append(names, &e.Ref, e.View, e.About)
		for _, c := range e.Calls {
			names = append(names, &c.Result, c.View, c.About)
		}
	}
	for _, q := range slices.Concat(s.Questions, s.Approved) {
		names = append(names, &q.Ref)
	}
	for _, f := range s.Faded {
		names = append(names, f.Summary)
		r.follow(f.Original.Hash, r.texts)
	}
	for _, ref := range names {
		if ref != nil {
			r.add(ref.Hash)
		}
	}
	for _, ref := range blobs.ParseRefs(s.Stable.System) { // SEGMENT and SUMMARISE
		if h, err := r.find(ref.Hash); err == nil {
			r.visit(h)
		}
	}
	r.there(slices.Collect(maps.Keys(s.Grants))...)
}

// texts visits what an original or a card lists.
func (r *reacher) texts(b blobs.Blob) {
	for _, ref := range blobs.ParseRefs(string(b.Body)) {
		if h, err := r.find(ref.Hash); err == nil {
			r.add(h)
		}
	}
	for _, l := range mind.ReadCard(b.Body) {
		if h, err := r.find(l.Ref.Hash); err == nil {
			r.follow(h, r.texts)
		}
	}
}
