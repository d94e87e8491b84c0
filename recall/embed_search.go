package recall

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// What vectors may cost a search, and what they bring.
const (
	searchVectorTime = 3 * time.Second
	hintVectorTime   = 150 * time.Millisecond
	leastVectorTime  = 5 * time.Millisecond // with less it is not asked
	nearest          = 50                   // originals that join the candidates
	fusion           = 60.0                 // of reciprocal rank fusion, as its authors have it
	hintPool         = 10                   // of the ranking, from which hints are chosen
)

// asked is the vector of a query, and until when it may be looked for.
type asked struct {
	model  string
	vector []float32
	until  time.Time
}

// question asks for the vector of a query, or of a text that may have hints. It
// is nil when there is no endpoint, none of its vectors is here, or it does not
// answer in time, which is never more than half of what is left to ctx.
func (x *Index) question(ctx context.Context, text string, hint bool) *asked {
	e := x.embedding
	if e == nil {
		return nil
	}
	most, rest := searchVectorTime, &e.trouble.search
	if hint {
		most, rest = hintVectorTime, &e.trouble.hint
	}
	if text = cutRunes(text, embedRunes); text == "" || e.trouble.resting(rest) {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/2)
	}
	db, err := x.look()
	if err != nil || most < leastVectorTime {
		return nil
	}
	size := 0
	err = x.guarded(func() error {
		size, err = db.vectorSize(ctx, db.read, e.Model)
		return err
	})
	if err != nil || size == 0 {
		return nil
	}
	until := time.Now().Add(most)
	actx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	got, err := e.embed(actx, []string{text})
	if err == nil && len(got[0]) != size {
		err = e.fail(0, nil, "the vector of the query has %d numbers, not %d", len(got[0]), size)
	}
	if ctx.Err() != nil {
		return nil // it is not the endpoint's fault
	}
	e.trouble.question(rest, err)
	switch {
	case err != nil && hint:
		x.log.Debug("no embedding of what may have hints", "error", err)
		return nil
	case err != nil:
		x.failed(err)
		return nil
	case !hint:
		x.answered()
	}
	return &asked{model: e.Model, vector: got[0], until: until}
}

// alike is a document and how near it is to the query.
type alike struct {
	id     int64
	cosine float64
}

// nearest looks through the vectors, newest first, until the time is up, and
// returns the documents that are nearest and fit, nearest first.
func (s *stage) nearest(ctx context.Context, db *database, a *asked, fits func(candidate) bool) ([]alike, error) {
	size, err := db.vectorSize(ctx, s.tx, a.model)
	if err != nil || size != len(a.vector) {
		return nil, err
	}
	rows, err := s.tx.QueryContext(ctx, `SELECT d.id, v.vector, d.hash, d.first, d.last, d.rooms, d.tools, d.kinds
		FROM vectors v JOIN docs d ON d.id = v.id ORDER BY v.id DESC LIMIT ?`, mostVectors)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var best []alike
	for i := 0; rows.Next(); i++ {
		if i%256 == 255 && time.Now().After(a.until) {
			break
		}
		var n alike
		var first, last int64
		var packed, hash, rooms, tools, kinds sql.RawBytes
		if err := rows.Scan(&n.id, &packed, &hash, &first, &last, &rooms, &tools, &kinds); err != nil {
			return nil, err
		}
		var ok bool
		if n.cosine, ok, err = cosine(packed, a.vector); err != nil {
			return nil, err
		}
		if !ok || n.cosine <= 0 || len(best) == nearest && n.cosine <= best[nearest-1].cosine {
			continue
		}
		if fits != nil {
			c := candidate{first: time.UnixMicro(first).UTC(), last: time.UnixMicro(last).UTC(),
				rooms: strings.Fields(string(rooms)), tools: strings.Fields(string(tools)), kinds: strings.Fields(string(kinds))}
			copy(c.hash[:], hash)
			if !fits(c) {
				continue
			}
		}
		at, _ := slices.BinarySearchFunc(best, n, func(a, b alike) int { return cmp.Compare(b.cosine, a.cosine) })
		for at < len(best) && best[at].cosine == n.cosine {
			at++ // of equals, the newest first
		}
		best = slices.Insert(best, at, n)
		best = best[:min(len(best), nearest)]
	}
	return best, rows.Err()
}

// join adds what is near to what words have found. A failure to look is no reason
// not to answer, unless the index is damaged.
func (s *stage) join(ctx context.Context, db *database, h *shelf, a *asked, fits func(candidate) bool) error {
	if a == nil {
		return nil
	}
	list, err := s.nearest(ctx, db, a, fits)
	if err == nil && len(list) > 0 {
		err = s.shelve(ctx, h, list)
	}
	if err != nil && damaged(err) {
		return err
	}
	return ctx.Err()
}

func (s *stage) shelve(ctx context.Context, h *shelf, list []alike) error {
	found := &shelf{known: map[int64]int{}}
	args := make([]any, len(list))
	for i, n := range list {
		args[i] = n.id
	}
	if err := found.add(ctx, s.tx, "id IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...); err != nil {
		return err
	}
	have := map[int64]int{}
	for i, p := range h.places {
		have[p.id] = i
	}
	for rank, n := range list {
		if i, ok := have[n.id]; ok {
			h.docs[i].near = rank + 1
			continue
		}
		if i, ok := found.known[n.id]; ok {
			c, p := found.docs[i], found.places[i]
			c.near, c.added, p.row = rank+1, true, p.id
			h.docs, h.places = append(h.docs, c), append(h.places, p)
		}
	}
	return nil
}

// fused ranks candidates by words and, as far as they have a rank by vectors, by
// reciprocal rank fusion of both. What only vectors have found comes behind the
// others in c and has no part in how those are ranked.
func fused(ctx context.Context, q query, c []candidate, s stats) ([]ranked, error) {
	n := slices.IndexFunc(c, func(c candidate) bool { return c.added })
	if n < 0 {
		n = len(c)
	}
	order, err := rank(ctx, q, c[:n], s)
	if err != nil || !slices.ContainsFunc(c, func(c candidate) bool { return c.near > 0 }) {
		return order, err
	}
	ranks := make([]bool, len(c))
	for i := range order {
		r := &order[i]
		ranks[r.candidate] = true
		r.score = 1 / (fusion + float64(i+1))
		if k := c[r.candidate].near; k > 0 {
			r.score += 1 / (fusion + float64(k))
		}
	}
	matched := map[int]ranked{} // of those that were added, for their passages
	added, err := rank(ctx, q, c[n:], s)
	if err != nil {
		return nil, err
	}
	for _, r := range added {
		r.candidate += n
		matched[r.candidate] = r
	}
	for i := range c {
		if ranks[i] || c[i].near == 0 {
			continue
		}
		r, ok := matched[i]
		if !ok {
			at := opening(q, c[i])
			r = ranked{candidate: i, from: at.from, to: at.to}
		}
		r.score = 1 / (fusion + float64(c[i].near))
		order = append(order, r)
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return order, nil
}

// opening is the passage of a body in which no word matches: its first lines.
func opening(q query, c candidate) span {
	units := newPageReader(q).read(c).units
	if len(units) == 0 {
		return span{}
	}
	out := units[0].shown(c.body)
	for _, u := range units[1:] {
		wider := span{out.from, u.to}
		if !short(c.body[wider.from:wider.to]) {
			break
		}
		out = wider
	}
	return out
}

// choose picks the hints out of a ranking. Words decide whether there are any and
// which might be; vectors only which of those come first.
func (x *Index) choose(ctx context.Context, text string, cands []candidate, order []ranked) []ranked {
	usual := hinted(order)
	if x.embedding == nil || len(usual) == 0 {
		return usual
	}
	var pool []ranked
	for _, r := range order[:min(len(order), hintPool)] {
		if r.confidence >= hintConfidence/2 {
			pool = append(pool, r)
		}
	}
	if len(pool) < 2 {
		return usual
	}
	a := x.question(ctx, text, true)
	if a == nil {
		return usual
	}
	var better []ranked
	err := x.guarded(func() (err error) {
		better, err = x.reorder(ctx, a, cands, pool)
		return err
	})
	if err != nil { // also a damaged index: the next search says so
		return usual
	}
	if better = hinted(better); len(better) == 0 { // not without one that words are sure of
		return usual
	}
	return better
}

// reorder sorts a pool of hints by both ranks.
func (x *Index) reorder(ctx context.Context, a *asked, cands []candidate, pool []ranked) ([]ranked, error) {
	db, err := x.look()
	if err != nil {
		return nil, err
	}
	byVector := make([]float64, len(pool))
	for i, r := range pool {
		byVector[i] = math.Inf(-1)
		var packed []byte
		c := cands[r.candidate]
		err := db.read.QueryRowContext(ctx, "SELECT v.vector FROM docs d JOIN vectors v ON v.id = d.id WHERE d.key = ? AND d.hash = ?", keyOf(c.hash), c.hash[:]).Scan(&packed)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n, ok, err := cosine(packed, a.vector)
		if err != nil {
			return nil, err
		}
		if ok {
			byVector[i] = n
		}
	}
	out := slices.Clone(pool)
	for i := range out {
		out[i].score = 1 / (fusion + float64(i+1))
		if math.IsInf(byVector[i], -1) {
			continue
		}
		better := 0
		for _, n := range byVector {
			if n > byVector[i] {
				better++
			}
		}
		out[i].score += 1 / (fusion + float64(better+1))
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return out, nil
}
