package recall

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// state is what the index knows of itself: one row, written in the transaction
// of the documents it speaks of.
type state struct {
	mark
	Self    string `json:"self"`    // of the life, as its boot line has it
	Entries []byte `json:"entries"` // see encodeEntries

	Docs int   `json:"docs"`
	Next int64 `json:"next"` // number of the next segment
	// First and Last bound the times of all content, in Unix microseconds.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// queryer is a connection, or a transaction on one.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (db *database) load(ctx context.Context, q queryer) (state, error) {
	s := state{Next: 1}
	var text string
	if err := q.QueryRowContext(ctx, "SELECT json FROM state").Scan(&text); err != nil {
		if err == sql.ErrNoRows {
			err = fmt.Errorf("%w: no state", errDamaged)
		}
		return s, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read state: %w: %w", errDamaged, err)
	}
	if s.Docs < 0 || s.Next < 1 || int64(s.Docs) >= s.Next {
		return s, fmt.Errorf("read state: %w: %d documents in %d segments", errDamaged, s.Docs, s.Next-1)
	}
	return s, nil
}

func (s *state) save(ctx context.Context, tx *sql.Tx) error {
	text, err := json.Marshal(s)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE state SET json = ?", string(text))
	}
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// cover widens the bounds of all content, as far back as there were computers to
// write a tag: one that is older is nonsense, and would make all days countless.
func (s *state) cover(first, last time.Time) {
	f, l := max(0, first.UnixMicro()), max(0, last.UnixMicro())
	if s.Docs == 0 || f < s.First {
		s.First = f
	}
	if s.Docs == 0 || l > s.Last {
		s.Last = l
	}
}

// within cuts a stretch of time, where zero is no bound, to that of all content.
func (s *state) within(since, until time.Time) (time.Time, time.Time) {
	first, last := time.UnixMicro(s.First).UTC(), time.UnixMicro(s.Last).UTC()
	if since.Before(first) {
		since = first
	}
	if until.IsZero() || until.After(last) {
		until = last
	}
	return since.UTC(), until.UTC()
}
