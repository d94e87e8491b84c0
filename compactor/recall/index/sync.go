package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// A batch is written when it has a run's worth, or after some time: small enough that a kill -9
// takes little away.
const batchTime = 2 * time.Second

// pass reads the log once, behind the index's mark, and takes in the originals that it names.
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
	opened, err := open(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return p.sweep(p.Path)
	}
	if err == nil {
		p.state = *opened
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

// commit takes in originals until they fill a run. done says that the log has ended. Originals before an error are
// committed.
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
	p.batch.encode()
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
	if err == nil {
		err = p.spell()
	}
	if err != nil {
		return err
	}
	return p.state.save(p.Path)
}

// mostSpelt bounds the bytes of the words that are kept: of as many as some 100,000 originals have.
const mostSpelt = 12 << 20

// spell adds the new words of the originals to the index.
func (p *pass) spell() error {
	known := p.Words()
	for _, word := range strings.Fields(known) {
		delete(p.reader.words, word)
	}
	words := slices.Sorted(maps.Keys(p.reader.words))
	clear(p.reader.words)
	added := strings.Join(words, "\n")
	if added == "" || len(known)+len(added) >= mostSpelt {
		return nil
	}
	_, _, err := durable.Append(p.Path+"-words", []byte(added+"\n"), 0o600)
	return err
}

// A search looks into each run. So a new one takes in the last ones, while these are not twice as
// long as it, up to so many segments: some 20 MB in memory.
const mostJoined = 1 << 13

// hashAt returns the hash of the ref at an index, in a list; an empty one if there is no such ref.
func hashAt(refs []blobs.Ref, i int) []string {
	if i < 0 || i >= len(refs) {
		return nil
	}
	return []string{refs[i].Hash}
}

// step takes in the originals that one event names. At the end of the log it returns io.EOF. After
// another error the event will be read again.
func (p *pass) step(ctx context.Context) error {
	line, follows, err := p.events.Next()
	if err != nil {
		return err
	}
	if !follows {
		p.fades = nil
	}
	for _, ref := range p.named(line) {
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

// named returns the originals that a line names. Of a fade and of an edit's note it keeps them until their epoch.
func (p *pass) named(line life.Event) (refs []string) {
	switch line.Kind {
	case "fade":
		fade, ok := event.As[event.Fade](line)
		isCard := ok && fade.To == mind.Card // it has no original of its own
		if ok && !isCard {
			p.fades = append(p.fades, hashAt(line.Refs, 0)...)
		}
	case "adopted":
		refs = hashAt(line.Refs, len(line.Refs)-1)
	case "note":
		note, ok := event.As[event.Note](line)
		if ok && note.Why == "edit" { // it names the lines that the edit took out of entries that stay
			p.fades = append(p.fades, hashAt(line.Refs, 1)...)
		}
	case life.Epoch:
		refs, p.fades = p.fades, nil
		epoch, _ := event.As[event.Epoch](line)
		isFork := epoch.Why == "fork"
		if isFork || epoch.Why == "edit" {
			for _, snapshot := range hashAt(line.Refs, 0) {
				refs = append(refs, p.faded(snapshot, isFork)...)
			}
		}
	}
	return refs
}

// faded lists the originals of an epoch's faded ranges, for those that no other line names: a person took them out of
// the context, or, with cards, a fork begins with them.
func (p *pass) faded(ref string, cards bool) (out []string) {
	var state struct {
		Faded   []mind.Range  `json:"faded"`
		Adopted []mind.Source `json:"adopted"`
	}
	b, err := p.store.Find(ref)
	if err == nil {
		err = json.Unmarshal(b.Body, &state)
	}
	if err != nil {
		p.Log.Warn("an epoch is passed over in the index", "error", err)
	}
	for _, past := range state.Faded {
		if original := past.Original.Hash.String(); past.Level != mind.Card {
			out = append(out, original)
		} else if cards {
			out = append(out, p.listed(original, max(1, past.Tier))...)
		}
	}
	for _, source := range state.Adopted {
		if cards {
			out = append(out, p.listed(source.List.Hash.String(), 2)...)
		}
	}
	return out
}

// listed lists the originals that a card of a tier stands for.
func (p *pass) listed(card string, tier int) (out []string) {
	if tier == 0 {
		return []string{card}
	}
	blob, err := p.store.Find(card)
	if err != nil || !p.Owns(blob) {
		p.Log.Warn("a card is passed over in the index", "hash", card, "error", err)
		return nil
	}
	for _, l := range mind.ReadCard(blob.Body) {
		out = append(out, p.listed(l.Ref.Hash, tier-1)...)
	}
	return out
}

// take indexes an original, unless it is indexed already or not to be had.
func (p *pass) take(ref string) error {
	var blob blobs.Blob
	hash, err := p.store.Resolve(ref)
	if err == nil {
		var known bool
		if known, err = p.known(hash); known || err != nil {
			return err
		}
		blob, err = p.store.Get(hash)
	}
	if err == nil && !p.Owns(blob) {
		err = fmt.Errorf("read blob %s: %w", hash, errStranger)
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
	return p.batch.take(p.reader.read(blob, func(ref string) time.Time {
		blob, _ := p.store.Find(ref)
		return blob.At
	}))
}

// errStranger says that a blob does not name this life.
var errStranger = errors.New("of another life")

// known reports whether the index has an original.
func (p *pass) known(hash blobs.Hash) (bool, error) {
	if p.batch.hashes[hash] {
		return true, nil
	}
	for _, run := range p.Runs {
		segments, err := run.with(originalTerm(hash))
		if err != nil {
			return false, err
		}
		for at := range segments {
			if d, err := run.doc(run.First + at); err != nil || d.Hash == hash {
				return err == nil, err
			}
		}
	}
	return false, nil
}
