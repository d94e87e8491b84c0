package recall

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
)

const (
	usualHits  = 10
	mostHits   = 50
	mostHints  = 3
	mostFilter = 256 // bytes of the name in a filter
)

// Search returns the best hits for a query, best first. Each was read from the
// store and verified. With no word to look for the error is ErrEmpty; with an
// index that turns out to be damaged, ErrRebuilding.
func (x *Index) Search(ctx context.Context, store *blobs.Store, q Query) ([]Hit, error) {
	if q.Now.IsZero() {
		q.Now = time.Now()
	}
	text := plainText(q.Text)
	a := analyse(text, q.Now)
	if a.empty() {
		return nil, ErrEmpty
	}
	q.asked = x.question(ctx, text, false)
	cands, ranked, err := x.find(ctx, store, a, q, nil)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = usualHits
	}
	return hits(cands, ranked[:min(limit, mostHits, len(ranked))]), nil
}

// Hints returns at most three hits that match a text well, best first, and
// mostly none. The text is what somebody has said, or what a tool has printed;
// not, if not nil, says which originals are of no use now. A text without a word
// to look for has no hints.
func (x *Index) Hints(ctx context.Context, store *blobs.Store, text string, now time.Time, not func(blobs.Hash) bool) ([]Hit, error) {
	text = plainText(text)
	a := analyse(text, now)
	if !a.tells() {
		return nil, nil
	}
	cands, ranked, err := x.find(ctx, store, a, Query{}, not)
	if err != nil {
		return nil, fmt.Errorf("look for hints: %w", err)
	}
	ranked = x.choose(ctx, text, cands, ranked)
	return hits(cands, ranked[:min(mostHints, len(ranked))]), nil
}

var unmark = strings.NewReplacer("◱", " ", "◲", " ", "◰", " ")

// plainText bounds a text and makes it UTF-8. What is structure in stored text
// is not in a text from outside.
func plainText(text string) string {
	return unmark.Replace(strings.ToValidUTF8(cutBytes(text, maxQuery), " "))
}

// mostLookups run at once. Each ends soon after its context does; what nobody
// waits for any more must not pile up behind it meanwhile.
const mostLookups = 2

// find does a search on the index as it is now.
func (x *Index) find(ctx context.Context, store *blobs.Store, a query, q Query, not func(blobs.Hash) bool) ([]candidate, []ranked, error) {
	select {
	case x.lookups <- struct{}{}:
		defer func() { <-x.lookups }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	db, err := x.look()
	if err != nil {
		return nil, nil, err
	}
	if self := x.self.Load(); self != nil {
		q.self = *self
	}
	var cands []candidate
	var order []ranked
	err = x.guarded(func() error {
		s, gone, err := (*stage)(nil), []lost(nil), error(nil)
		if cands, gone, s, err = db.candidates(ctx, store, a, q, not); err == nil {
			x.miss(gone, q)
			order, err = fused(ctx, a, cands, s)
		}
		return err
	})
	if err == nil {
		return cands, order, nil
	}
	if !damaged(err) {
		return nil, nil, err
	}
	x.condemn(db, reason(err))
	return nil, nil, ErrRebuilding
}

// learn notes whose the log is, as far as its first line says so: whose originals a
// search may show is nothing that the index is asked.
func (x *Index) learn(lifePath string) {
	log, err := openLog(lifePath, mark{})
	if err != nil {
		return // Sync will say so
	}
	defer log.close()
	if e, _, err := log.next(); err == nil && e.Kind == "boot" && len(e.Refs) > 0 {
		x.self.Store(&e.Refs[0].Hash)
	}
}

// candidates runs stage one and reads the bodies of what it finds.
func (db *database) candidates(ctx context.Context, store *blobs.Store, a query, q Query, not func(blobs.Hash) bool) ([]candidate, []lost, *stage, error) {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, nil, err
	}
	defer rollback(tx)
	s := newStage(ctx, db, tx)
	if s.state, err = db.load(ctx, tx); err != nil {
		return nil, nil, nil, err
	}
	s.filter = filterOf(q, s.state)
	var fits func(candidate) bool
	if s.filter != "" || not != nil || len(q.Not) > 0 {
		fits = func(c candidate) bool { return q.fits(c) && (not == nil || !not(c.hash)) }
	}
	h, err := s.run(ctx, a, fits)
	if err == nil {
		err = s.join(ctx, db, h, q.asked, fits)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	tx.Rollback() // no snapshot is held while files are read
	cands, gone, err := h.bodies(ctx, opener{store, cmp.Or(q.self, s.state.Self), q, s.unknown})
	return cands, gone, s, err
}

// filterOf renders what a query is limited to, for FTS5. Days are those of UTC;
// fits is exact.
func filterOf(q Query, s state) string {
	var all []string
	for _, f := range []struct{ key, value string }{{"room", q.Room}, {"tool", q.Tool}, {"kind", q.Kind}} {
		if f.value != "" {
			all = append(all, quoted(filterTerm(f.key, cutBytes(f.value, mostFilter))))
		}
	}
	if !q.Since.IsZero() || !q.Until.IsZero() {
		all = append(all, either(dayTerms(s.within(q.Since, q.Until))))
	}
	return strings.Join(all, " AND ")
}

// fits reports whether a candidate is what a query is limited to.
func (q Query) fits(c candidate) bool {
	return (q.Since.IsZero() || !c.last.Before(q.Since)) && (q.Until.IsZero() || !c.first.After(q.Until)) &&
		(q.Room == "" || slices.Contains(c.rooms, q.Room)) &&
		(q.Tool == "" || slices.ContainsFunc(c.tools, func(t string) bool { return strings.EqualFold(t, q.Tool) })) &&
		(q.Kind == "" || slices.Contains(c.kinds, q.Kind)) && !slices.Contains(q.Not, c.hash)
}

func hits(cands []candidate, ranked []ranked) []Hit {
	out := make([]Hit, len(ranked))
	for i, r := range ranked {
		out[i] = hit(cands[r.candidate], r)
	}
	return out
}

// hit makes what is handed out of a candidate.
func hit(c candidate, r ranked) Hit {
	from := min(max(r.from, 0), len(c.body))
	to := min(max(r.to, from), len(c.body))
	return Hit{
		Hash: c.hash, From: c.from, To: c.to, At: c.last, Gist: c.gist, Rooms: c.rooms, Tools: c.tools, Kinds: c.kinds,
		Passage: c.text(from, to), Offset: c.head + utf8.RuneCountInString(c.body[:from]),
		Score: r.score, Confidence: r.confidence,
	}
}
