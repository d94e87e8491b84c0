package recall

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"lethe/blobs"
)

// vectorSchema is made when vectors are first kept, so that an index without
// them is what it always was. size is 0 until the first vector is there.
const vectorSchema = `
CREATE TABLE IF NOT EXISTS embedder(one INTEGER PRIMARY KEY CHECK (one = 1), model TEXT NOT NULL, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors(id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
`

const mostVectors = 200_000 // the newest, which are made and looked through

// vectored is an original on its way to a vector.
type vectored struct {
	id     int64 // of its document
	hash   blobs.Hash
	text   string
	vector []float32 // nil: there will be none
}

// hasVectors reports whether the tables are there.
func hasVectors(ctx context.Context, q queryer) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('embedder', 'vectors')").Scan(&n)
	return n == 2, err
}

// vectorSize returns how many numbers the vectors of a model have, 0 when there
// are none.
func (db *database) vectorSize(ctx context.Context, q queryer, model string) (int, error) {
	have, err := hasVectors(ctx, q)
	if !have || err != nil {
		return 0, err
	}
	var size int
	err = q.QueryRowContext(ctx, "SELECT size FROM embedder WHERE model = ?", model).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err == nil && (size < 0 || size > mostDims) {
		err = fmt.Errorf("%w: vectors of %d numbers", errDamaged, size)
	}
	return size, err
}

// prepareVectors makes the tables, drops the vectors of another model and those
// of originals that are too old by now, and returns which documents are to have
// one: after least and before the other.
func (db *database) prepareVectors(ctx context.Context, model string) (least, before int64, err error) {
	tx, err := db.begin(ctx, busyTime)
	if err != nil {
		return 0, 0, err
	}
	defer rollback(tx)
	if _, err := tx.ExecContext(ctx, vectorSchema); err != nil {
		return 0, 0, err
	}
	var now string
	switch err := tx.QueryRowContext(ctx, "SELECT model FROM embedder").Scan(&now); {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return 0, 0, err
	case err != nil || now != model:
		if _, err := tx.ExecContext(ctx, "DELETE FROM vectors; DELETE FROM embedder"); err != nil {
			return 0, 0, err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO embedder VALUES (1, ?, 0)", model); err != nil {
			return 0, 0, err
		}
	}
	err = tx.QueryRowContext(ctx, "SELECT id FROM docs ORDER BY id DESC LIMIT 1 OFFSET ?", mostVectors).Scan(&least)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE id <= ?", least); err != nil {
		return 0, 0, err
	}
	return least, math.MaxInt64, tx.Commit()
}

// unvectored returns the newest documents in a range that have no vector yet, as
// many as make a batch.
func (db *database) unvectored(ctx context.Context, least, before int64) ([]vectored, error) {
	rows, err := db.read.QueryContext(ctx, `SELECT id, hash FROM docs WHERE id > ? AND id < ?
		AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.id = docs.id) ORDER BY id DESC LIMIT ?`, least, before, embedBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []vectored
	for rows.Next() {
		var v vectored
		var hash []byte
		if err := rows.Scan(&v.id, &hash); err != nil {
			return nil, err
		}
		if len(hash) != len(v.hash) {
			return nil, fmt.Errorf("%w: document %d", errDamaged, v.id)
		}
		copy(v.hash[:], hash)
		out = append(out, v)
	}
	return out, rows.Err()
}

// addVectors writes vectors, unless the index is another model's by now.
func (db *database) addVectors(ctx context.Context, model string, list []vectored) error {
	if len(list) == 0 {
		return nil
	}
	tx, err := db.begin(ctx, busyTime)
	if err != nil {
		return err
	}
	defer rollback(tx)
	size := 0
	for _, v := range list {
		size = max(size, len(v.vector))
	}
	done, err := tx.ExecContext(ctx, "UPDATE embedder SET size = max(size, ?1) WHERE model = ?2 AND (size = ?1 OR size = 0 OR ?1 = 0)", size, model)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errMoved, err)
	}
	for _, v := range list {
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO vectors VALUES (?, ?)", v.id, pack(v.vector)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// pack stores a vector of length 1 in a byte a number: a float32, what one step
// is, and the steps.
func pack(v []float32) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	step := most / math.MaxInt8
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(v)), math.Float32bits(step))
	for _, x := range v {
		out = append(out, byte(int8(math.Round(float64(x/step)))))
	}
	return out
}

// cosine compares a stored vector with another of length 1. It is false for an
// empty one.
func cosine(packed []byte, v []float32) (float64, bool, error) {
	if len(packed) == 0 {
		return 0, false, nil
	}
	if len(packed) != 4+len(v) {
		return 0, false, fmt.Errorf("%w: a vector of %d bytes for %d numbers", errDamaged, len(packed), len(v))
	}
	step := math.Float32frombits(binary.LittleEndian.Uint32(packed))
	if !(step > 0 && step <= 1) {
		return 0, false, fmt.Errorf("%w: a vector in steps of %g", errDamaged, step)
	}
	packed = packed[4:]
	sum := float32(0)
	for i, x := range v {
		sum += x * float32(int8(packed[i]))
	}
	return float64(step * sum), true, nil
}
