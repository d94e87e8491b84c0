package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// A batch is written when it has a run's worth, or after some time: small enough that a kill -9
// takes little away.
const batchTime = 2 * time.Second

// pass reads the log once, from where the index stands, and takes in what it names.
type pass struct {
	state
	*Index
	store  *blobs.Store
	reader reader

	batch  *batch
	events *life.Reader
	fades  []string  // the addresses of originals; they count only with the epoch that follows them in the same append
	read   life.Mark // of the log, with what is in the batch
	added  int       // committed
}

// open opens what is there, or nothing where nothing is.
func (p *pass) open() error {
	o, err := open(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return p.sweep(p.Path)
	}
	if err == nil {
		p.state = *o
	}
	return err
}

func (p *pass) run(ctx context.Context, lifePath string) (err error) {
	if p.events, err = life.ReadFrom(lifePath, p.Mark); err != nil {
		return err
	}
	defer p.events.Close()
	for done := p.Offset == p.events.Size; !done; {
		if done, err = p.commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// commit takes in originals until there are enough of them for one run.
// done says that there are no more. What was read before an error is committed.
func (p *pass) commit(ctx context.Context) (done bool, err error) {
	p.batch, p.read = &batch{first: p.next(), hashes: map[blobs.Hash]bool{}}, p.Mark
	var broken error
	for began := time.Now(); broken == nil && !p.batch.full(); {
		if time.Since(began) >= batchTime {
			break
		}
		broken = p.step(ctx)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err := p.save(); err != nil {
		return false, err
	}
	if p.added += len(p.batch.hashes); broken == io.EOF {
		return true, nil
	}
	return false, broken
}

// save writes the batch as a run, and then the state.
func (p *pass) save() error {
	p.Mark = p.read
	if len(p.batch.hashes) == 0 {
		return p.state.save(p.Path)
	}
	for last := len(p.Runs) - 1; last >= 0; last-- {
		n, more := p.Runs[last].N, int64(p.batch.segments())
		if n >= 2*more || n+more > mostJoined {
			break
		}
		err := p.batch.join(p.Runs[last])
		p.Runs[last].file.Close()
		if err != nil {
			return err
		}
		p.Runs = p.Runs[:last]
	}
	r, err := p.batch.write(p.Path)
	p.Runs = append(p.Runs, r)
	if err != nil {
		return err
	}
	return p.state.save(p.Path)
}

// A search looks into each run. So a new one takes in the last ones, while these are not twice as
// long as it, up to so many segments: some 20 MB in memory.
const mostJoined = 1 << 13

// hashAt returns the hash of the ref at an index, in a list; an empty one if there is no such ref.
func hashAt(refs []blobs.Ref, i int) []string {
	if i >= len(refs) {
		return nil
	}
	return []string{refs[i].Hash}
}

// step takes in the originals that one event names. At the end of the log it returns io.EOF. After
// another error the event will be read again.
func (p *pass) step(ctx context.Context) error {
	e, follows, err := p.events.Next()
	if err != nil {
		return err
	}
	if !follows {
		p.fades = nil
	}
	var refs []string
	switch e.Kind {
	case "fade":
		fade, ok := event.As[event.Fade](e)
		isCard := ok && fade.To == mind.Card // it has no original of its own
		if ok && !isCard {
			p.fades = append(p.fades, hashAt(e.Refs, 0)...)
		}
	case "note":
		note, ok := event.As[event.Note](e)
		if ok && note.Why == "edit" { // it names the lines that the edit took out of entries that stay
			p.fades = append(p.fades, hashAt(e.Refs, 1)...)
		}
	case life.Epoch:
		refs, p.fades = p.fades, nil
		epoch, _ := event.As[event.Epoch](e)
		isFork := epoch.Why == "fork"
		if isFork || epoch.Why == "edit" {
			for _, snapshot := range hashAt(e.Refs, 0) {
				refs = append(refs, p.faded(snapshot, isFork)...)
			}
		}
	}
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.take(ref); err != nil {
			return err
		}
	}
	if len(p.fades) == 0 {
		p.read = p.events.At
	}
	return nil
}

// faded lists the originals of an epoch's faded ranges, where nothing else names them: what a person took
// out of the context, and, with those that cards list, what a fork begins with.
func (p *pass) faded(ref string, cards bool) (out []string) {
	var state struct {
		Faded []mind.Range `json:"faded"`
	}
	b, err := p.store.Find(ref)
	if err == nil {
		err = json.Unmarshal(b.Body, &state)
	}
	if err != nil {
		p.Log.Warn("an epoch is passed over in the index", "error", err)
	}
	for _, r := range state.Faded {
		if original := r.Original.Hash.String(); r.Level != mind.Card {
			out = append(out, original)
		} else if cards {
			out = append(out, p.listed(original, max(1, r.Tier))...)
		}
	}
	return out
}

// listed lists the originals that a card of a tier stands for.
func (p *pass) listed(card string, tier int) (out []string) {
	if tier == 0 {
		return []string{card}
	}
	b, err := p.store.Find(card)
	if err != nil || !p.Owns(b) {
		p.Log.Warn("a card is passed over in the index", "hash", card, "error", err)
		return nil
	}
	for _, l := range mind.ReadCard(b.Body) {
		out = append(out, p.listed(l.Ref.Hash, tier-1)...)
	}
	return out
}

// take indexes an original, unless it is indexed already or not to be had.
func (p *pass) take(ref string) error {
	var b blobs.Blob
	h, err := p.store.Resolve(ref)
	if err == nil {
		var known bool
		if known, err = p.known(h); known || err != nil {
			return err
		}
		b, err = p.store.Get(h)
	}
	if err == nil && !p.Owns(b) {
		err = fmt.Errorf("read blob %s: %w", h, errStranger)
	}
	switch {
	case errors.Is(err, blobs.ErrNotFound),
		errors.Is(err, blobs.ErrDigest),
		errors.Is(err, errStranger),
		errors.Is(err, blobs.ErrAmbiguous):
		p.Log.Warn("an original is passed over in the index", "hash", ref, "error", err)
		return nil
	case err != nil:
		return err
	}
	return p.batch.take(p.reader.read(b, func(ref string) time.Time {
		b, _ := p.store.Find(ref)
		return b.At
	}))
}

// errStranger says that a blob names another life, or none.
var errStranger = errors.New("of another life")

// known reports whether the index has an original.
func (p *pass) known(h blobs.Hash) (bool, error) {
	if p.batch.hashes[h] {
		return true, nil
	}
	for _, r := range p.Runs {
		segments, err := r.with(originalTerm(h))
		if err != nil {
			return false, err
		}
		for at := range segments {
			if d, err := r.doc(r.First + at); err != nil || d.Hash == h {
				return err == nil, err
			}
		}
	}
	return false, nil
}
