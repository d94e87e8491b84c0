package recall

import (
	"context"
	"math/rand/v2"
	"time"
)

// An original that is not to be had when the log names it is noted, and looked
// for again: somebody may put it back. A store that has lost many costs little:
// what is looked for at once are so many of them, from anywhere among them.
const (
	seekTime = 10 * time.Minute // from one time to the next, in one process
	seekMost = 64
)

// seek looks for originals that were missing, and for more as long as some are
// back.
func (s *syncing) seek(ctx context.Context) error {
	if !s.sought.IsZero() && time.Since(s.sought) < seekTime {
		return nil
	}
	s.sought = time.Now()
	docs := newReader()
	for {
		list, err := s.db.missing(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		b := batch{}
		if b.behind, err = s.start(); err != nil {
			return err
		}
		for _, t := range list {
			doc, err := s.original(ctx, docs, t, b.behind.self)
			switch {
			case gone(err):
				continue
			case err != nil:
				return err
			case doc != nil:
				b.todo = append(b.todo, todo{doc: doc})
				s.log.Info("an original that was missing is back", "entries", t.entries(), "hash", doc.hash)
			}
			b.todo = append(b.todo, todo{found: t.ref})
		}
		if len(b.todo) == 0 {
			return nil
		}
		none := make(chan batch)
		close(none)
		if err := s.transaction(ctx, b, none); err != nil {
			return err
		}
	}
}

// missing returns some of the originals that are missing.
func (db *database) missing(ctx context.Context) ([]task, error) {
	var last int64
	if err := db.read.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM missing").Scan(&last); err != nil || last < 1 {
		return nil, err
	}
	from := int64(0)
	if last > seekMost {
		from = rand.Int64N(last)
	}
	rows, err := db.read.QueryContext(ctx, `
		SELECT * FROM (SELECT ref, entry_from, entry_to, first, last FROM missing WHERE id > ?1 ORDER BY id LIMIT ?2)
		UNION ALL SELECT * FROM (SELECT ref, entry_from, entry_to, first, last FROM missing WHERE id <= ?1 ORDER BY id LIMIT ?2)
		LIMIT ?2`, from, seekMost)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []task
	for rows.Next() {
		var t task
		var first, last int64
		if err := rows.Scan(&t.ref, &t.from, &t.to, &first, &last); err != nil {
			return nil, err
		}
		t.first, t.last = moment(first), moment(last)
		out = append(out, t)
	}
	return out, rows.Err()
}

// moment is a time that was stored in microseconds; zero stays zero.
func moment(micros int64) time.Time {
	if micros == (time.Time{}).UnixMicro() {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
