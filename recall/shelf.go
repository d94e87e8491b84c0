package recall

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

const columns = "id, hash, entry_from, entry_to, segments, first, last, gist, rooms, tools, kinds, tells, opened"

// shelf collects the documents that stage one comes to, each once.
type shelf struct {
	docs []candidate
	// Of each: its first segment, how many it has, and which one is read.
	places []place
	known  map[int64]int // by first segment
}

type place struct{ id, segments, row int64 }

// add looks documents up by a condition.
func (h *shelf) add(ctx context.Context, tx *sql.Tx, where string, args ...any) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+columns+" FROM docs WHERE "+where, args...)
	if err != nil {
		return fmt.Errorf("look up documents: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c candidate
		var p place
		var hash []byte
		var first, last int64
		var rooms, tools, kinds, tells string
		if err := rows.Scan(&p.id, &hash, &c.from, &c.to, &p.segments, &first, &last, &c.gist, &rooms, &tools, &kinds, &tells, &c.opened); err != nil {
			return fmt.Errorf("look up documents: %w", err)
		}
		if len(hash) != len(c.hash) || p.segments < 1 {
			return fmt.Errorf("look up documents: %w: document %d", errDamaged, p.id)
		}
		if _, ok := h.known[p.id]; ok {
			continue
		}
		copy(c.hash[:], hash)
		c.first, c.last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
		c.rooms, c.tools, c.kinds = strings.Fields(rooms), strings.Fields(tools), strings.Fields(kinds)
		c.tells = strings.Fields(tells)
		h.known[p.id] = len(h.docs)
		h.docs, h.places = append(h.docs, c), append(h.places, p)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("look up documents: %w", err)
	}
	return nil
}

// documents looks up whose the segments are. A document has the score of its best
// segment and something for each other. They come best first.
func (s *stage) documents(ctx context.Context, segs []found) (*shelf, error) {
	h := &shelf{known: map[int64]int{}}
	if len(segs) == 0 {
		return h, nil
	}
	args := make([]any, len(segs))
	for i, f := range segs {
		args[i] = f.row
	}
	if err := h.add(ctx, s.tx, "id IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...); err != nil {
		return nil, err
	}
	for _, f := range segs {
		i, ok := h.known[f.row]
		if !ok { // not the first segment of its document
			if i = h.holder(f.row); i < 0 {
				if err := h.add(ctx, s.tx, "id = (SELECT max(id) FROM docs WHERE id < ?)", f.row); err != nil {
					return nil, err
				}
				if i = h.holder(f.row); i < 0 {
					return nil, fmt.Errorf("%w: segment %d is nobody's", errDamaged, f.row)
				}
			}
		}
		if h.places[i].row == 0 { // segs come best first
			h.places[i].row, h.docs[i].words = f.row, f.words
		} else {
			h.docs[i].words += f.words / 10
		}
		if f.grams {
			h.docs[i].trigrams = 1
		}
	}
	h.sort()
	return h, nil
}

// only keeps the documents that fit.
func (h *shelf) only(fits func(candidate) bool) *shelf {
	out := &shelf{known: h.known}
	for i, c := range h.docs {
		if fits(c) {
			out.docs, out.places = append(out.docs, c), append(out.places, h.places[i])
		}
	}
	return out
}

// cut keeps the first n documents.
func (h *shelf) cut(n int) {
	n = min(n, len(h.docs))
	h.docs, h.places = h.docs[:n], h.places[:n]
}

// holder returns the document that a segment belongs to, -1 for none.
func (h *shelf) holder(row int64) int {
	return slices.IndexFunc(h.places, func(p place) bool { return p.id <= row && row < p.id+p.segments })
}

// sort puts the documents with the best words first.
func (h *shelf) sort() {
	order := make([]int, len(h.docs))
	for i := range order {
		order[i] = i
	}
	worth := func(i int) float64 { return h.docs[i].words + 100*h.docs[i].trigrams }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(worth(b), worth(a)), cmp.Compare(h.places[b].id, h.places[a].id))
	})
	docs, places := make([]candidate, len(order)), make([]place, len(order))
	for i, k := range order {
		docs[i], places[i] = h.docs[k], h.places[k]
		h.known[places[i].id] = i
	}
	h.docs, h.places = docs, places
}

// neighbours adds what stands just before and after the best documents: the
// question is often in one and the answer in the other.
func (s *stage) neighbours(ctx context.Context, h *shelf) error {
	n := len(h.docs)
	var args []any
	for _, c := range h.docs[:min(n, neighboured)] {
		args = append(args, c.to+1, c.from)
	}
	if n == 0 {
		return nil
	}
	const pair = "?, (SELECT max(entry_from) FROM docs WHERE entry_from < ?)"
	err := h.add(ctx, s.tx, "entry_from IN ("+pair+strings.Repeat(", "+pair, len(args)/2-1)+")", args...)
	for i := n; i < len(h.docs); i++ {
		p := &h.places[i]
		p.row = p.id
		if slices.ContainsFunc(h.docs[:n], func(c candidate) bool { return h.docs[i].to+1 == c.from }) {
			p.row += p.segments - 1 // its end is what is near
		}
	}
	return err
}
