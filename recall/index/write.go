package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"

	"lethe/blobs"
)

// writer puts documents into the tables, in one transaction.
type writer struct {
	state             state
	added             int
	find, add, insert *sql.Stmt
}

func newWriter(ctx context.Context, tx *sql.Tx, now state) (*writer, error) {
	w := &writer{state: now}
	var errs [3]error
	w.find, errs[0] = tx.PrepareContext(ctx, "SELECT EXISTS (SELECT 1 FROM docs WHERE key = ? AND hash = ?)") // they end with tx
	w.add, errs[1] = tx.PrepareContext(ctx, "INSERT INTO docs(id, key, hash, entry_from, entry_to, segments, size, first, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	w.insert, errs[2] = tx.PrepareContext(ctx, "INSERT INTO terms(rowid, term) VALUES (?, ?)")
	return w, errors.Join(errs[:]...)
}

// keyOf is the beginning of an address, which is what documents are looked up by.
func keyOf(h blobs.Hash) int64 { return int64(binary.BigEndian.Uint64(h[:8])) }

// known reports whether the index has an original.
func (w *writer) known(ctx context.Context, h blobs.Hash) (known bool, err error) {
	err = w.find.QueryRowContext(ctx, keyOf(h), h[:]).Scan(&known)
	return known, err
}

// take adds a document.
func (w *writer) take(ctx context.Context, d document) error {
	_, err := w.add.ExecContext(ctx, w.state.Next, keyOf(d.hash), d.hash[:], d.from, d.to, len(d.rows), d.size, d.first.UnixMicro(), d.last.UnixMicro())
	if err != nil {
		return err
	}
	for i, terms := range d.rows {
		if _, err := w.insert.ExecContext(ctx, w.state.Next+int64(i), terms); err != nil {
			return err
		}
	}
	w.state.Next += int64(len(d.rows))
	w.added++
	return nil
}

// A search opens each posting list in every segment that FTS5 has written. What a
// Sync has added is merged after it, in steps of so many pages, and so many steps
// for so many documents.
const (
	mergePages = 250
	mergeSteps = 4
	mergeDocs  = 400
)

// merge merges FTS5's segments, step by step, since each is a transaction.
func (f *file) merge(ctx context.Context, added int) error {
	for range mergeSteps + added/mergeDocs {
		if _, err := f.db.ExecContext(ctx, "INSERT INTO terms(terms, rank) VALUES ('merge', ?)", mergePages); err != nil {
			return err
		}
	}
	return nil
}
