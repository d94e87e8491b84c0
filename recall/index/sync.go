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

// syncing is one pass over the log, from where the index stands.
type syncing struct {
	file     *file
	store    *blobs.Store
	log      *slog.Logger
	path     string // of the log
	self     string // the life's address
	progress func(done, total int)

	added int // committed
}

func (s *syncing) run(ctx context.Context) error {
	tx, err := s.file.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	now, err := load(ctx, tx)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	log, err := life.ReadFrom(s.path, now.Mark)
	if err != nil {
		return err
	}
	defer log.Close()
	p := &pass{syncing: s, events: log, follower: follower{removed: s.removed}, reader: newReader(), state: now}
	for done := now.Offset == log.Size; !done; {
		if done, err = p.transaction(ctx); err != nil {
			return err
		}
		if s.progress != nil {
			s.progress(int(p.state.Offset), int(log.Size))
		}
	}
	if s.added > 0 {
		return s.file.merge(ctx, s.added)
	}
	return nil
}

// pass reads the log and takes in what it names.
type pass struct {
	*syncing
	follower
	events *life.Reader
	reader *reader
	state  state
}

// transaction takes in originals until there are enough of them for one commit.
// done says that there are no more. What was read before an error is committed.
func (p *pass) transaction(ctx context.Context) (done bool, err error) {
	tx, err := p.file.write.BeginTx(ctx, nil)
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
	tasks, settled := p.take(e, follows)
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		known, err := w.known(ctx, t.ref)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		doc, err := p.original(t)
		if err != nil {
			return err // this event will be read again
		}
		if doc != nil {
			if err := w.take(ctx, doc); err != nil {
				return err
			}
		}
	}
	if settled {
		w.state.Mark = p.events.At
	}
	return nil
}

// original reads what a task names. It is nil when that is not to be had.
func (p *pass) original(t task) (*document, error) {
	b, err := p.fetch(t.ref)
	var ambiguous *blobs.AmbiguousError
	switch {
	case errors.Is(err, blobs.ErrNotFound), errors.Is(err, blobs.ErrDigest), errors.Is(err, errStranger), errors.As(err, &ambiguous):
		p.log.Warn("an original is passed over in the index", "entries", t.entries(), "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	d := p.reader.read(b, t.from, t.to, func(ref string) time.Time {
		b, err := p.read(ref)
		if err != nil {
			return time.Time{}
		}
		return b.At
	})
	return &d, nil
}

// errStranger says that a blob names another life, or none.
var errStranger = errors.New("of another life")

// fetch reads an original of this life.
func (s *syncing) fetch(ref string) (blobs.Blob, error) {
	b, err := s.read(ref)
	if err == nil && b.Life != s.self {
		err = fmt.Errorf("read blob %s: %w", b.Hash, errStranger)
	}
	return b, err
}

func (s *syncing) read(ref string) (blobs.Blob, error) {
	h, err := s.store.Resolve(ref)
	if err != nil {
		return blobs.Blob{}, err
	}
	return s.store.Get(h)
}

// removed reads an epoch for what a person took out of the context.
func (s *syncing) removed(ref string) []task {
	b, err := s.read(ref)
	var tasks []task
	if err == nil {
		tasks, err = removedBy(b.Body)
	}
	if err != nil {
		s.log.Warn("an edit is passed over in the index", "error", err)
	}
	return tasks
}
