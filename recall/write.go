package recall

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// write takes batches in, many to a transaction.
func (s *syncing) write(ctx context.Context, batches <-chan batch) error {
	for b := range batches {
		if len(b.todo) == 0 && b.behind.Offset-s.state.Offset < 1<<20 {
			s.ahead = &ahead{s.state.mark, b.behind} // not worth a transaction
			continue
		}
		if err := s.breathe(ctx); err != nil {
			return err
		}
		if err := s.transaction(ctx, b, batches); err != nil {
			return err
		}
		if s.progress != nil {
			s.progress(int(s.state.Offset), int(s.size))
		}
	}
	return ctx.Err()
}

// Between transactions others get a turn: who waits for one tries every pollTime.
const (
	breathTime  = 500 * time.Millisecond // of work
	breathPause = pollTime * 3 / 2
)

// breathe pauses now and then, and looks whether the file is still there.
func (s *syncing) breathe(ctx context.Context) error {
	if s.db.replaced() {
		return errMoved
	}
	if s.breathed.IsZero() {
		s.breathed = time.Now()
	}
	if time.Since(s.breathed) < breathTime {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(breathPause):
	}
	s.breathed = time.Now()
	return nil
}

// transaction takes in a batch and those that come while there is room.
func (s *syncing) transaction(ctx context.Context, b batch, more <-chan batch) error {
	tx, err := s.db.begin(ctx, claimTime)
	if err != nil {
		return err
	}
	defer rollback(tx)
	began := time.Now()
	now, err := s.db.load(ctx, tx)
	if err != nil {
		return err
	}
	if now.mark != s.state.mark {
		return errMoved
	}
	w, err := newWriter(ctx, tx, now)
	if err != nil {
		return err
	}
	defer w.close()
	last := b.behind
	for ok := true; ok; b, ok = w.next(ctx, more, began) {
		last = b.behind
		for _, t := range b.todo {
			if err := w.take(ctx, t); err != nil {
				return err
			}
		}
	}
	w.state.mark, w.state.Self, w.state.Entries = last.mark, last.self, encodeEntries(last.entries)
	if err := w.state.save(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.state = w.state
	s.added += w.added
	s.ahead = &ahead{s.state.mark, last}
	return nil
}

// writer puts documents into the tables.
type writer struct {
	state             state
	added             int
	find, add, insert *sql.Stmt
	open, miss, back  *sql.Stmt
}

func newWriter(ctx context.Context, tx *sql.Tx, now state) (*writer, error) {
	w := &writer{state: now}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.find, "SELECT hash FROM docs WHERE key = ? AND hash = ?"},
		{&w.add, "INSERT INTO docs(id, key, hash, entry_from, entry_to, segments, first, last, gist, rooms, tools, kinds, tells) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&w.insert, "INSERT INTO terms(rowid, term) VALUES (?, ?)"},
		{&w.open, "UPDATE docs SET opened = opened + 1 WHERE key = ? AND hash = ?"},
		{&w.miss, "INSERT OR IGNORE INTO missing(ref, entry_from, entry_to, first, last) VALUES (?, ?, ?, ?, ?)"},
		{&w.back, "DELETE FROM missing WHERE ref = ?"},
	} {
		var err error
		if *p.stmt, err = tx.PrepareContext(ctx, p.text); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *writer) close() {
	for _, s := range []*sql.Stmt{w.find, w.add, w.insert, w.open, w.miss, w.back} {
		if s != nil {
			s.Close()
		}
	}
}

// next returns another batch if it is there soon and the transaction is not
// large or old yet.
func (w *writer) next(ctx context.Context, more <-chan batch, began time.Time) (batch, bool) {
	left := txTime - time.Since(began)
	if w.added >= txDocs || left <= 0 {
		return batch{}, false
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case b, ok := <-more:
		return b, ok
	case <-timer.C:
	case <-ctx.Done():
	}
	return batch{}, false
}

// take does one thing.
func (w *writer) take(ctx context.Context, t todo) (err error) {
	switch m := t.missing; {
	case t.doc != nil:
		return w.takeIn(ctx, t.doc)
	case m != nil:
		_, err = w.miss.ExecContext(ctx, m.ref, m.from, m.to, m.first.UnixMicro(), m.last.UnixMicro())
	case t.found != "":
		_, err = w.back.ExecContext(ctx, t.found)
	default:
		_, err = w.open.ExecContext(ctx, keyOf(t.opened), t.opened[:])
	}
	return err
}

// takeIn adds a document, unless it is there.
func (w *writer) takeIn(ctx context.Context, d *document) error {
	var have []byte
	switch err := w.find.QueryRowContext(ctx, keyOf(d.hash), d.hash[:]).Scan(&have); err {
	case sql.ErrNoRows:
	default:
		return err
	}
	_, err := w.add.ExecContext(ctx, w.state.Next, keyOf(d.hash), d.hash[:], d.from, d.to, len(d.rows),
		d.first.UnixMicro(), d.last.UnixMicro(), d.gist, list(d.facts.rooms), list(d.facts.tools), list(d.facts.kinds), list(d.tells))
	if err != nil {
		return err
	}
	for i, terms := range d.rows {
		if _, err := w.insert.ExecContext(ctx, w.state.Next+int64(i), terms); err != nil {
			return err
		}
	}
	w.state.cover(d.first, d.last)
	w.state.Next += int64(len(d.rows))
	w.state.Docs++
	w.added++
	return nil
}

// A search opens each posting list in every segment that FTS5 has written. What a
// pass has added is merged after it, in steps that nobody waits for: so many
// pages each, and so many of them for so many documents.
const (
	mergePages = 250
	mergeSteps = 4
	mergeDocs  = 400
)

// tidy merges segments until there is nothing worth merging.
func (s *syncing) tidy(ctx context.Context) error {
	for range mergeSteps + s.added/mergeDocs {
		if err := s.breathe(ctx); err != nil {
			return err
		}
		if more, err := s.db.merge(ctx); !more || err != nil {
			return err
		}
	}
	return nil
}

func (db *database) merge(ctx context.Context) (more bool, err error) {
	tx, err := db.begin(ctx, claimTime)
	if err != nil {
		return false, err
	}
	defer rollback(tx)
	var before, after int
	if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO terms(terms, rank) VALUES ('merge', ?)", mergePages); err != nil {
		return false, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after); err != nil {
		return false, err
	}
	return after-before > 1, tx.Commit() // FTS5 counts one change for nothing done
}

// list is how several names stand in one column; none of them has a space.
func list(names []string) string { return strings.Join(names, " ") }
