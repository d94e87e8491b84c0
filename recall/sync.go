package recall

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/blobs"
)

// A transaction is large enough to be cheap and small enough that nobody waits
// for it long, and that a kill -9 takes little away.
const (
	batchDocs  = 128
	batchBytes = 1 << 20
	txDocs     = 4096
	txTime     = 2 * time.Second
)

// batch is what a stretch of the log asks for, with where the log stands behind
// it.
type batch struct {
	todo   []todo
	behind cursor
}

// todo is one of these: a document to be added, an original that was opened, one
// that is missing, one that is no longer.
type todo struct {
	doc     *document
	opened  blobs.Hash
	missing *task  // an original that is not to be had
	found   string // the ref of one that was not, and is in the index now
}

// ahead is where the last Sync has read to beyond what the index has written
// down: nothing worth a transaction came after base.
type ahead struct {
	base mark
	cursor
}

// Sync brings the index up to date with the log at lifePath and returns how many
// originals it added. It goes on where the last Sync, of any process, has
// stopped; when the log is not the one that was indexed, or the index is
// damaged, it begins anew. progress, if not nil, is told now and then how many
// bytes of the log are done.
//
// While another process does it, or holds the file, for more than two seconds,
// the error is ErrBusy. An original that is missing or damaged in the store is
// passed over, and looked for again by a later Sync. After an error, or when ctx
// ends, what was added stays.
func (x *Index) Sync(ctx context.Context, store *blobs.Store, lifePath string, progress func(done, total int)) (added int, err error) {
	x.syncing.Lock()
	defer x.syncing.Unlock()
	x.learn(lifePath)
	for {
		n, err := x.pass(ctx, store, lifePath, progress)
		added += n
		switch {
		case err == nil || ctx.Err() != nil:
			return added, err
		case errors.Is(err, errMoved):
		case errors.Is(err, errRenewed):
			added = 0
		default:
			return added, fmt.Errorf("sync index: %w", err)
		}
	}
}

// pass does what can be done under one lock.
func (x *Index) pass(ctx context.Context, store *blobs.Store, lifePath string, progress func(done, total int)) (added int, err error) {
	release, err := x.claim(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	db, err := x.current()
	if err != nil {
		return 0, err
	}
	s := &syncing{Index: x, db: db, store: store, path: lifePath, progress: progress}
	err = x.guarded(func() error { return s.run(ctx) })
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, errMoved):
		return s.added, err
	case errors.Is(err, errOtherLog):
		return 0, cmp.Or(x.renew(db, err.Error()), errRenewed)
	case damaged(err):
		return 0, cmp.Or(x.renew(db, reason(err)), errRenewed)
	case busy(err):
		return s.added, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if now, lerr := x.look(); lerr != nil || now != db { // it was found damaged, or removed, meanwhile
		return 0, errRenewed
	}
	return s.added, err
}

// errRenewed says that the index is another one now, or is to be.
var errRenewed = errors.New("the index was made anew")

// errMoved says that another process has written to the index meanwhile.
var errMoved = errors.New("the index was moved on")

// syncing is one pass over the log.
type syncing struct {
	*Index
	db       *database
	store    *blobs.Store
	path     string
	progress func(done, total int)

	size     int64     // of the log
	state    state     // as it is written
	added    int       // committed
	breathed time.Time // when others could last write
}

// run reads the log and the originals beside the transactions that take them in.
func (s *syncing) run(ctx context.Context) error {
	var err error
	if s.state, err = s.db.load(ctx, s.db.read); err != nil {
		return err
	}
	if err := s.guarded(func() error { return s.seek(ctx) }); err != nil {
		return err
	}
	from, err := s.start()
	if err != nil {
		return err
	}
	log, err := openLog(s.path, from.mark)
	if err != nil {
		return err
	}
	defer log.close()
	s.size = log.size
	if from.Offset == log.size {
		return nil
	}
	batches := make(chan batch, 1)
	group, gctx := errgroup.WithContext(ctx)
	var broken error        // what ended the reading; what was read before is still written
	group.Go(func() error { // ends with the log, or with gctx
		defer close(batches)
		broken = s.guarded(func() error { return s.follow(gctx, log, from, batches) })
		return nil
	})
	group.Go(func() error { return s.guarded(func() error { return s.write(gctx, batches) }) })
	err = group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && s.added > 0 {
		err = s.tidy(ctx)
	}
	return cmp.Or(err, broken)
}

// start returns where to go on: ahead of what is written, if that is still what
// we knew.
func (s *syncing) start() (cursor, error) {
	if s.ahead != nil && s.ahead.base == s.state.mark && s.ahead.self == s.state.Self {
		c := s.ahead.cursor
		c.entries = maps.Clone(c.entries)
		return c, nil
	}
	entries, err := decodeEntries(s.state.Entries)
	if err != nil {
		return cursor{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return cursor{s.state.mark, s.state.Self, entries}, nil
}

// follow reads the log and the blobs that it names, and hands on what is to be
// written.
func (s *syncing) follow(ctx context.Context, log *logReader, from cursor, out chan<- batch) error {
	f := follower{cursor: from, removed: s.removed}
	docs := newReader()
	var b batch
	bytes, read := 0, from.Offset
	send := func() error {
		b.behind = f.cursor
		b.behind.entries = maps.Clone(f.entries)
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		b, bytes, read = batch{}, 0, f.Offset
		return nil
	}
	for {
		e, follows, err := log.next()
		if err == io.EOF {
			return send()
		}
		if err != nil {
			return errors.Join(send(), err)
		}
		tasks, settled := f.take(e, follows)
		for _, t := range tasks {
			if err := ctx.Err(); err != nil {
				return err
			}
			if t.ref == "" {
				b.todo = append(b.todo, todo{opened: t.opened})
				continue
			}
			doc, err := s.original(ctx, docs, t, f.self)
			switch {
			case gone(err):
				s.log.Warn("an original is passed over in the index", "entries", t.entries(), "error", err)
				b.todo = append(b.todo, todo{missing: &t})
			case err != nil: // this event will be read again
				return errors.Join(send(), err)
			case doc != nil:
				b.todo = append(b.todo, todo{doc: doc})
				bytes += doc.size
			}
		}
		if !settled {
			continue
		}
		f.settle(log.at, tasks)
		if len(b.todo) >= batchDocs || bytes >= batchBytes || f.Offset-read > 1<<20 {
			if err := send(); err != nil {
				return err
			}
		}
	}
}

// gone reports whether an error says that an original is missing or damaged.
func gone(err error) bool {
	return errors.Is(err, blobs.ErrNotFound) || errors.Is(err, blobs.ErrDigest)
}

// original reads the document that a task asks for. It is nil when the index has
// it, and when it will never be to be had.
func (s *syncing) original(ctx context.Context, docs *reader, t task, self string) (*document, error) {
	if known, err := s.known(ctx, t.ref); known || err != nil {
		return nil, err
	}
	b, err := s.fetch(t.ref, self)
	var ambiguous *blobs.AmbiguousError
	switch {
	case errors.Is(err, errStranger) || errors.As(err, &ambiguous):
		s.log.Warn("an original is passed over in the index", "entries", t.entries(), "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	var d document
	if err := s.guarded(func() error {
		d = docs.read(b, t.from, t.to, t.first, t.last, s.tells(string(b.Body), self)...)
		return nil
	}); err != nil {
		s.log.Error("an original is passed over in the index", "hash", b.Hash, "error", err)
		return nil, nil
	}
	return &d, nil
}

func (t task) entries() string { return fmt.Sprintf("e%d..e%d", t.from, t.to) }

// tells lists the sections of an original that show another blob which is indexed
// nowhere else: one of another life, what a tool has printed. One that cannot be
// read counts as such too.
func (s *syncing) tells(body, self string) []string {
	if !strings.Contains(body, opened) {
		return nil
	}
	var out []string
	for _, part := range sections(body) {
		short := part.opens(body)
		if short == "" {
			continue
		}
		h, err := s.store.Resolve(short)
		var b blobs.Blob
		if err == nil {
			b, err = s.store.Get(h)
		}
		if err != nil || !copies(b, self) {
			out = append(out, part.id())
		}
	}
	return out
}

// known reports whether the index has an original with this address, or with
// one that begins so: 16 digits are what its key is made of.
func (s *syncing) known(ctx context.Context, ref string) (bool, error) {
	if len(ref) < 16 {
		return false, nil
	}
	var h blobs.Hash
	if _, err := hex.Decode(h[:], []byte(ref[:16])); err != nil {
		return false, nil
	}
	rows, err := s.db.read.QueryContext(ctx, "SELECT hash FROM docs WHERE key = ?", keyOf(h))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var have []byte
		if err := rows.Scan(&have); err != nil {
			return false, err
		}
		if strings.HasPrefix(hex.EncodeToString(have), ref) {
			return true, nil
		}
	}
	return false, rows.Err()
}

// keyOf is the beginning of an address, which is what documents are looked up
// by.
func keyOf(h blobs.Hash) int64 { return int64(binary.BigEndian.Uint64(h[:8])) }

// errStranger says that a blob names another life, or none.
var errStranger = errors.New("of another life")

// fetch reads an original of this life.
func (s *syncing) fetch(ref, self string) (blobs.Blob, error) {
	h, err := s.store.Resolve(ref)
	if err != nil {
		return blobs.Blob{}, err
	}
	b, err := s.store.Get(h)
	if err == nil && (self == "" || !strings.HasPrefix(b.Life, self)) {
		err = fmt.Errorf("read blob %s: %w", h, errStranger)
	}
	return b, err
}

// removed reads an epoch for what a person took out of the context.
func (s *syncing) removed(ref string) []task {
	h, err := s.store.Resolve(ref)
	var b blobs.Blob
	if err == nil {
		b, err = s.store.Get(h)
	}
	var tasks []task
	if err == nil {
		tasks, err = removedBy(b.Body)
	}
	if err != nil {
		s.log.Warn("an edit is passed over in the index", "error", err)
	}
	return tasks
}
