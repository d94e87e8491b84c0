package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// A transaction is large enough to be cheap and small enough that a kill -9 takes
// little away.
const (
	txDocs = 4096
	txTime = 2 * time.Second
)

// pass reads the log once, from where the index stands, and takes in what it names.
type pass struct {
	file   *file
	store  *blobs.Store
	log    *slog.Logger
	owns   func(blobs.Blob) bool // whether the life does
	reader *reader

	events *life.Reader
	fades  []task // they count only with the epoch that follows them in the same append
	state  state
	added  int // committed
}

// task is an original that the log names.
type task struct {
	from, to int    // its entries
	ref      string // its address or the beginning of it
}

func (p *pass) run(ctx context.Context, lifePath string) error {
	tx, err := p.file.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	p.state, err = load(ctx, tx)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	if p.events, err = life.ReadFrom(lifePath, p.state.Mark); err != nil {
		return err
	}
	defer p.events.Close()
	for done := p.state.Offset == p.events.Size; !done; {
		if done, err = p.transaction(ctx); err != nil {
			return err
		}
	}
	if p.added > 0 {
		return p.file.merge(ctx, p.added)
	}
	return nil
}

// transaction takes in originals until there are enough of them for one commit.
// done says that there are no more. What was read before an error is committed.
func (p *pass) transaction(ctx context.Context) (done bool, err error) {
	tx, err := p.file.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	w, err := newWriter(ctx, tx, p.state)
	if err != nil {
		return false, err
	}
	var broken error
	for began := time.Now(); broken == nil && w.added < txDocs && time.Since(began) < txTime; {
		broken = p.step(ctx, w)
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case broken != io.EOF && damaged(broken):
		return false, broken
	}
	if err = w.state.save(ctx, tx); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return false, err
	}
	p.state = w.state
	p.added += w.added
	if broken == io.EOF {
		return true, nil
	}
	return false, broken
}

// step takes in what one event names. At the end of the log it returns io.EOF. After
// another error the event will be read again.
func (p *pass) step(ctx context.Context, w *writer) error {
	e, follows, err := p.events.Next()
	if err != nil {
		return err
	}
	if !follows {
		p.fades = nil
	}
	var tasks []task
	switch e.Kind {
	case "fade": // a card has no original of its own
		if fade, ok := event.As[event.Fade](e); ok && len(e.Refs) > 0 && fade.To != mind.Card {
			p.fades = append(p.fades, task{fade.Entries.From, fade.Entries.To, e.Refs[0].Hash})
		}
	case "note": // an edit's note names the lines that it took out of entries that stay
		if note, ok := event.As[event.Note](e); ok && note.Why == "edit" && len(e.Refs) > 1 {
			p.fades = append(p.fades, task{note.N, note.N, e.Refs[1].Hash})
		}
	case life.Epoch:
		tasks, p.fades = p.fades, nil
		if epoch, ok := event.As[event.Epoch](e); ok && (epoch.Why == "edit" || epoch.Why == "fork") && len(e.Refs) > 0 {
			tasks = append(tasks, p.faded(e.Refs[0].Hash, epoch.Why == "fork")...)
		}
	}
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.take(ctx, w, t); err != nil {
			return err
		}
	}
	if len(p.fades) == 0 {
		w.state.Mark = p.events.At
	}
	return nil
}

// faded lists the originals of an epoch's faded ranges, where nothing else names them: what a person took
// out of the context, and, with those that cards list, what a fork begins with.
func (p *pass) faded(ref string, cards bool) (out []task) {
	var state struct {
		Faded []mind.Range `json:"faded"`
	}
	b, err := p.read(ref)
	if err == nil {
		err = json.Unmarshal(b.Body, &state)
	}
	if err != nil {
		p.log.Warn("an epoch is passed over in the index", "error", err)
	}
	for _, r := range state.Faded {
		t := task{r.From, r.To, r.Original.Hash.String()}
		if r.Level != mind.Card {
			out = append(out, t)
		} else if cards {
			out = append(out, p.listed(t, max(1, r.Tier))...)
		}
	}
	return out
}

// listed lists the originals that a card of a tier stands for.
func (p *pass) listed(card task, tier int) (out []task) {
	if tier == 0 {
		return []task{card}
	}
	b, err := p.read(card.ref)
	if err != nil || !p.owns(b) {
		p.log.Warn("a card is passed over in the index", "hash", card.ref, "error", err)
		return nil
	}
	for _, l := range mind.ReadCard(b.Body) {
		out = append(out, p.listed(task{l.From, l.To, l.Ref.Hash}, tier-1)...)
	}
	return out
}

// take indexes what a task names, unless it is indexed already or not to be had.
func (p *pass) take(ctx context.Context, w *writer, t task) error {
	var b blobs.Blob
	h, err := p.store.Resolve(t.ref)
	if err == nil {
		var known bool
		if known, err = w.known(ctx, h); known || err != nil {
			return err
		}
		b, err = p.store.Get(h)
	}
	if err == nil && !p.owns(b) {
		err = fmt.Errorf("read blob %s: %w", h, errStranger)
	}
	var ambiguous *blobs.AmbiguousError
	switch {
	case errors.Is(err, blobs.ErrNotFound), errors.Is(err, blobs.ErrDigest), errors.Is(err, errStranger), errors.As(err, &ambiguous):
		p.log.Warn("an original is passed over in the index", "entries", fmt.Sprintf("e%d..e%d", t.from, t.to), "error", err)
		return nil
	case err != nil:
		return err
	}
	return w.take(ctx, p.reader.read(b, t.from, t.to, func(ref string) time.Time {
		b, _ := p.read(ref)
		return b.At
	}))
}

// errStranger says that a blob names another life, or none.
var errStranger = errors.New("of another life")

func (p *pass) read(ref string) (blobs.Blob, error) {
	h, err := p.store.Resolve(ref)
	if err != nil {
		return blobs.Blob{}, err
	}
	return p.store.Get(h)
}
