package check

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/blobs"
	"lethe/life"
	"lethe/mind"
)

// find is Resolve. An address that is not there ends in zeros.
func find(store *blobs.Store, short string) (blobs.Hash, error) {
	h, err := store.Resolve(short)
	if err != nil {
		_, _ = hex.Decode(h[:], []byte(short+strings.Repeat("0", len(short)%2)))
	}
	return h, err
}

// reach reaches what a line refers to: texts, and what the identity was granted, reminded of and shown.
func (v *verifier) reach(line life.Event) {
	var texts []text
	for _, ref := range line.Refs {
		h, err := find(v.Store, ref.Hash)
		var b blobs.Blob
		if err == nil {
			b, err = v.Get(h)
		}
		b.Hash = h
		texts = append(texts, text{b, err})
	}
	if v.f != nil {
		v.f.line(line, texts)
	}
	for i, t := range texts {
		fade, summary := line.Kind == "fade", i == 1
		if !fade { // what one names is nothing without the epoch behind it
			v.newest, v.named[t.Hash] = t.Hash, true
		}
		switch {
		case t.err != nil:
			v.miss(t.Hash, t.err)
		case line.Kind == life.Epoch, line.Kind == "boot", fade && !summary:
			v.follow(t.Blob, true)
		default:
			v.take(t.Blob)
		}
	}
	for _, address := range slices.Concat(line.All("hash"), line.All("ref"), line.All("opened")) {
		if h, err := blobs.ParseHash(address); err == nil && v.Has(h) {
			v.visit(h)
		}
	}
}

// take takes in a blob that the life refers to.
func (v *verifier) take(b blobs.Blob) {
	if v.known(b.Hash) {
		return
	}
	v.parent[b.Hash] = b.Parent
	v.Reached = append(v.Reached, b.Hash)
	if v.f != nil {
		v.f.count(b)
	}
	if b.Gone != nil {
		v.left[b.Hash.String()] = b.Gone.Sum.String()
		if b.Gone.Why == blobs.Lost {
			v.tombs = append(v.tombs, b.Hash)
		}
	}
}

func (v *verifier) known(h blobs.Hash) bool { _, known := v.parent[h]; return known }

// miss notes that a blob is missing or damaged, which no line may have told of.
func (v *verifier) miss(h blobs.Hash, err error) {
	if v.Unknown == nil {
		v.Unknown = err
	}
	v.lost = append(v.lost, h)
	if v.f != nil {
		m := blobs.Meta{At: time.Unix(0, 0), Gist: "lost", Life: v.Self}
		v.f.miss(h, m, mind.Answer{Text: LostText}.Encode(), err.Error())
	}
}

func (v *verifier) visit(h blobs.Hash) {
	if v.known(h) {
		return
	}
	b, err := v.Get(h)
	if err != nil {
		v.miss(h, err)
		return
	}
	v.take(b)
}

// names finds what a snapshot names, refs in originals, and what a card lists.
var names = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"([0-9a-f]{64})"[,\n]|◱hash=([0-9a-f]{16,64}) gist=(?:SEGMENT|SUMMARISE)\.md◲|` +
		`◱hash=([0-9a-f]{12,64}) |(?m:^)hash=([0-9a-f]{12,64}) gist=`)
})

// follow takes in a blob, what its text names, and its parents. Trusted is a text by Lethe itself; one
// that anybody could have written names blobs of the life and its ancestors only.
func (v *verifier) follow(b blobs.Blob, trusted bool) {
	for {
		ours := b.Life == "" || v.own[b.Life]
		if ours || trusted {
			v.take(b)
		}
		if !ours || v.followed[b.Hash] {
			return
		}
		v.followed[b.Hash] = true
		if self, _, fork := strings.Cut(b.Fork, ":"); fork {
			v.own[self] = true
			v.name(self, true)
		}
		epoch := isSnapshot(b)
		for line := range bytes.Lines(b.Body) {
			if !epoch && !bytes.Contains(line, []byte("hash=")) {
				continue // the pattern is slow
			}
			for _, m := range names().FindAllSubmatch(line, -1) {
				if len(m[1]) == 0 || epoch {
					v.name(string(bytes.Join(m[1:], nil)), epoch && len(m[1])+len(m[2]) > 0)
				}
			}
		}
		if b.Parent.IsZero() || v.known(b.Parent) {
			return
		}
		parent, err := v.Get(b.Parent)
		if err != nil {
			v.miss(b.Parent, err)
			return
		}
		b = parent
	}
}

func isSnapshot(b blobs.Blob) bool { return strings.HasPrefix(b.Gist, "epoch ") }

// name follows what a text names, if it is new.
func (v *verifier) name(short string, trusted bool) {
	if h, _ := blobs.ParseHash(short); v.known(h) { // most of a snapshot
		return
	}
	h, err := find(v.Store, short)
	if v.known(h) || err != nil && !trusted {
		return
	}
	b, err := v.Get(h)
	if err != nil {
		v.miss(h, err)
		return
	}
	v.follow(b, trusted)
}
