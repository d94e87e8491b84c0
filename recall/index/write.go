package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"strings"

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
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.find, "SELECT hash FROM docs WHERE key = ?"},
		{&w.add, "INSERT INTO docs(id, key, hash, entry_from, entry_to, segments, size, first, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&w.insert, "INSERT INTO terms(rowid, term) VALUES (?, ?)"},
	} {
		var err error
		if *p.stmt, err = tx.PrepareContext(ctx, p.text); err != nil { // ends with tx
			return nil, err
		}
	}
	return w, nil
}

// keyOf is the beginning of an address, which is what documents are looked up by.
func keyOf(h blobs.Hash) int64 { return int64(binary.BigEndian.Uint64(h[:8])) }

// known reports whether the index has an original with this address, or with one
// that begins so: a log names the first 16 digits.
func (w *writer) known(ctx context.Context, ref string) (bool, error) {
	var h blobs.Hash
	if len(ref) < 16 {
		return false, nil
	}
	if _, err := hex.Decode(h[:], []byte(ref[:16])); err != nil {
		return false, nil
	}
	rows, err := w.find.QueryContext(ctx, keyOf(h))
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

// take adds a document.
func (w *writer) take(ctx context.Context, d *document) error {
	_, err := w.add.ExecContext(ctx, w.state.Next, keyOf(d.hash), d.hash[:], d.from, d.to, len(d.rows), d.size, d.first.UnixMicro(), d.last.UnixMicro())
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
// Sync has added is merged after it, in steps of so many pages, and so many steps
// for so many documents.
const (
	mergePages = 250
	mergeSteps = 4
	mergeDocs  = 400
)

// merge merges FTS5's segments until there is nothing worth merging.
func (f *file) merge(ctx context.Context, added int) error {
	for range mergeSteps + added/mergeDocs {
		if more, err := f.mergeSome(ctx); !more || err != nil {
			return err
		}
	}
	return nil
}

func (f *file) mergeSome(ctx context.Context) (more bool, err error) {
	tx, err := f.write.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
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
