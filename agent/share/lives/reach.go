package lives

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life"
)

// mentions finds addresses in a snapshot.
var mentions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[0-9a-f]{64}\b|hash=([0-9a-f]{12,64})`)
})

// reached returns the blobs that a life refers to from an offset of its log on, and not before. Its lines and snapshots
// name them, or a blob that they name descends from them.
func reached(id home.Identity, store *blobs.Store, from int64) ([]blobs.Hash, error) {
	known := map[blobs.Hash]bool{}
	var out, next []blobs.Hash
	var at int64
	visit := func(h blobs.Hash) error {
		if at < from {
			known[h] = true
			return nil
		}
		for next = append(next, h); len(next) > 0; {
			h, next = next[0], next[1:]
			if h.IsZero() || known[h] {
				continue
			}
			b, err := store.Get(h)
			if err != nil {
				return err
			}
			known[h], out, next = true, append(out, h), append(next, b.Parent)
			if !strings.HasPrefix(b.Gist, "epoch ") {
				continue
			}
			for _, m := range mentions().FindAllString(string(b.Body), -1) {
				if named, err := store.Resolve(strings.TrimPrefix(m, "hash=")); err == nil {
					next = append(next, named)
				}
			}
		}
		return nil
	}
	err := life.Scan(id.LIFE(), func(e life.Event, offset int64) (err error) {
		at = offset
		for _, ref := range e.Refs {
			h, rerr := store.Resolve(ref.Hash)
			if rerr == nil {
				rerr = visit(h)
			}
			err = errors.Join(err, rerr)
		}
		for _, address := range slices.Concat(e.All("hash"), e.All("ref"), e.All("opened")) {
			if h, perr := blobs.ParseHash(address); perr == nil && store.Has(h) {
				err = errors.Join(err, visit(h))
			}
		}
		if at < from {
			err = nil
		}
		return err
	})
	return out, err
}
