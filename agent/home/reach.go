package home

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/internal/pattern"
	"lethe/life"
)

// Reach finds the blobs that a life refers to, line by line:
//
//	reach := home.NewReach(store, id.Self)
//	reach.Line(e, reach.Refs(e)) // for each line of LIFE, in order
//
// They go wherever the life goes, and stay where nothing else does.
type Reach struct {
	*blobs.Store
	// Found are the blobs that lines name, what snapshots, cards and originals name beside them, and the parents of
	// what was taken over from an ancestor, in the order of LIFE. Unknown is the first error that may have kept some
	// away.
	Found   []blobs.Hash
	Unknown error
	Parent  map[blobs.Hash]blobs.Hash // of each blob that was found
	Lives   map[string]bool           // the life and its ancestors
	OnFound func(blobs.Blob)          // may be nil
	OnMiss  func(blobs.Hash, error)   // may be nil

	followed map[blobs.Hash]bool // blobs whose text was searched for names
}

// NewReach returns a Reach before the first line of a life.
func NewReach(store *blobs.Store, self string) *Reach {
	return &Reach{
		Store: store, Parent: map[blobs.Hash]blobs.Hash{}, Lives: map[string]bool{self: true},
		followed: map[blobs.Hash]bool{},
	}
}

// Text is the blob that a ref of a line leads to.
type Text struct {
	blobs.Blob // the Hash of a missing one ends in zeros
	Err        error
}

// Address is Resolve. An address that is not there ends in zeros.
func Address(store *blobs.Store, short string) (blobs.Hash, error) {
	h, err := store.Resolve(short)
	if err != nil {
		_, _ = hex.Decode(h[:], []byte(short+strings.Repeat("0", len(short)%2)))
	}
	return h, err
}

// Refs reads the blobs that the refs of a line lead to.
func (r *Reach) Refs(line life.Event) (texts []Text) {
	for _, ref := range line.Refs {
		h, err := Address(r.Store, ref.Hash)
		var b blobs.Blob
		if err == nil {
			b, err = r.Get(h)
		}
		b.Hash = h
		texts = append(texts, Text{b, err})
	}
	return texts
}

// Line takes in the blobs of a line: its texts, and all that the identity was granted, reminded of and shown.
func (r *Reach) Line(line life.Event, texts []Text) {
	for i, text := range texts {
		snapshot := line.Kind == life.Epoch || line.Kind == "boot"
		original := line.Kind == "fade" && i == 0
		switch {
		case text.Err != nil:
			r.miss(text.Hash, text.Err)
		case snapshot, original:
			r.follow(text.Blob, true)
		default:
			r.take(text.Blob)
		}
	}
	for _, address := range slices.Concat(line.All("hash"), line.All("ref"), line.All("opened")) {
		if h, err := blobs.ParseHash(address); err == nil && r.Has(h) {
			r.Visit(h)
		}
	}
}

// Pass keeps the texts of a line out of Found.
func (r *Reach) Pass(line life.Event) {
	for _, ref := range line.Refs {
		if h, err := r.Resolve(ref.Hash); err == nil {
			r.Parent[h] = blobs.Hash{}
		}
	}
}

// take takes in a blob that the life refers to.
func (r *Reach) take(b blobs.Blob) {
	if r.known(b.Hash) {
		return
	}
	r.Parent[b.Hash] = b.Parent
	r.Found = append(r.Found, b.Hash)
	if r.OnFound != nil {
		r.OnFound(b)
	}
}

func (r *Reach) known(h blobs.Hash) bool {
	_, known := r.Parent[h]
	return known
}

// miss notes that a blob is missing or damaged, which no line may have told of.
func (r *Reach) miss(h blobs.Hash, err error) {
	if r.Unknown == nil {
		r.Unknown = err
	}
	if r.OnMiss != nil {
		r.OnMiss(h, err)
	}
}

// Visit takes in the blob at an address.
func (r *Reach) Visit(h blobs.Hash) {
	if r.known(h) {
		return
	}
	b, err := r.Get(h)
	if err != nil {
		r.miss(h, err)
		return
	}
	r.take(b)
}

// names finds what a snapshot names, refs in originals, and what a card lists.
var names = pattern.Lazy(`"([0-9a-f]{64})"[,\n]|◱hash=([0-9a-f]{16,64}) gist=(?:SEGMENT|SUMMARISE)\.md◲|` +
	`◱hash=([0-9a-f]{12,64}) |(?m:^)hash=([0-9a-f]{12,64}) gist=`)

// follow takes in a blob, what its text names, and its parents. Trusted is a text by Lethe itself; one
// that anybody could have written names blobs of the life and its ancestors only.
func (r *Reach) follow(b blobs.Blob, trusted bool) {
	for {
		ours := b.Life == "" || r.Lives[b.Life]
		if ours || trusted {
			r.take(b)
		}
		if !ours || r.followed[b.Hash] {
			return
		}
		r.followed[b.Hash] = true
		if self, _, fork := strings.Cut(b.Fork, ":"); fork {
			r.Lives[self] = true
			r.name(self, true)
		}
		r.text(b)
		if b.Parent.IsZero() || r.known(b.Parent) {
			return
		}
		parent, err := r.Get(b.Parent)
		if err != nil {
			r.miss(b.Parent, err)
			return
		}
		b = parent
	}
}

// text follows what the text of a blob names.
func (r *Reach) text(b blobs.Blob) {
	epoch := IsSnapshot(b)
	for line := range bytes.Lines(b.Body) {
		if !epoch && !bytes.Contains(line, []byte("hash=")) {
			continue // the pattern is slow
		}
		for _, m := range names().FindAllSubmatch(line, -1) {
			if len(m[1]) == 0 || epoch {
				r.name(string(bytes.Join(m[1:], nil)), epoch && len(m[1])+len(m[2]) > 0)
			}
		}
	}
}

// IsSnapshot reports whether a blob is a snapshot of a mind.
func IsSnapshot(b blobs.Blob) bool { return strings.HasPrefix(b.Gist, "epoch ") }

// name follows what a text names, if it is new.
func (r *Reach) name(short string, trusted bool) {
	if h, _ := blobs.ParseHash(short); r.known(h) { // most of a snapshot
		return
	}
	h, err := Address(r.Store, short)
	mayMiss := err != nil && !trusted
	if mayMiss || r.known(h) {
		return
	}
	b, err := r.Get(h)
	if err != nil {
		r.miss(h, err)
		return
	}
	r.follow(b, trusted)
}
