package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"lethe/blobs"
	"lethe/life"
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
	self   string // the life's address
	reader *reader

	events   *life.Reader
	follower follower
	state    state
	added    int // committed
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
	p.follower.removed = p.removed
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
	for began := time.Now(); !done && w.added < txDocs && time.Since(began) < txTime; {
		if broken = p.step(ctx, w); broken != nil {
			done = true
		}
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if broken != io.EOF && damaged(broken) {
		return true, broken
	}
	if err := w.state.save(ctx, tx); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	p.state = w.state
	p.added += w.added
	if broken == io.EOF {
		broken = nil
	}
	return done, broken
}

// step takes in what one event names. At the end of the log it returns io.EOF.
func (p *pass) step(ctx context.Context, w *writer) error {
	e, follows, err := p.events.Next()
	if err != nil {
		return err
	}
	tasks, settled := p.follower.take(e, follows)
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.take(ctx, w, t); err != nil {
			return err // this event will be read again
		}
	}
	if settled {
		w.state.Mark = p.events.At
	}
	return nil
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
	if err == nil && b.Life != p.self {
		err = fmt.Errorf("read blob %s: %w", h, errStranger)
	}
	var ambiguous *blobs.AmbiguousError
	switch {
	case errors.Is(err, blobs.ErrNotFound), errors.Is(err, blobs.ErrDigest), errors.Is(err, errStranger), errors.As(err, &ambiguous):
		p.log.Warn("an original is passed over in the index", "entries", t.entries(), "error", err)
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

// removed reads an epoch for what a person took out of the context.
func (p *pass) removed(ref string) []task {
	b, err := p.read(ref)
	var tasks []task
	if err == nil {
		tasks, err = removedBy(b.Body)
	}
	if err != nil {
		p.log.Warn("an edit is passed over in the index", "error", err)
	}
	return tasks
}
