package recall

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/recall/index"
)

// hostile is text made to be expensive: what is asked, and bodies full of it.
type hostile struct {
	query  string
	bodies []string
}

// hostiles are the worst that strangers can have an identity hear and ask for, as
// n bodies of 11 KB each.
func hostiles(n int) map[string]hostile {
	r := rand.New(rand.NewPCG(1, 2))
	words := func(letters, n int) []string {
		out := make([]string, n)
		for i := range out {
			for range letters {
				out[i] += string(rune('a' + r.IntN(26)))
			}
		}
		return out
	}
	// join cuts words into clauses of so many.
	join := func(words []string, each int) string {
		var b strings.Builder
		for i, w := range words {
			b.WriteString(w)
			if i%each == each-1 {
				b.WriteByte('.')
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	fill := func(head string, next func() string) []string {
		out := make([]string, n)
		for i := range out {
			var b strings.Builder
			b.WriteString(head)
			for b.Len() < 11<<10 {
				b.WriteString(next())
			}
			out[i] = b.String()
		}
		return out
	}
	any := func(list []string) string { return list[r.IntN(len(list))] }
	const result = "◆ e5 reply\nI look.\n◆ e5.1 call BASH\n{}\n◆ e5.1 result ok\n"
	const heard = "◆ e5 inbound room=dev\n"
	const tag = "[USER:m 2026-03-01T09:00:00Z] "
	three, two := words(3, 700), words(2, 20)
	var again []string // in each clause
	for range 64 {
		again = append(again, two...)
	}
	out := map[string]hostile{
		"lines":   {join(three, 4), fill(result, func() string { return any(three) + "\n" })},
		"chat":    {join(three, 4), fill(heard, func() string { return tag + any(three) + "\n" })},
		"message": {join(three, 4), fill(heard+tag, func() string { return any(three) + " " })},
		"clauses": {join(again, 20), fill(result, func() string { return any(two) + "\n" })},
		"one":     {join(again, 20), fill(heard+tag, func() string { return any(two) + " " })},
		"dates":   {strings.Repeat("on 1 March 2026, on 2 March 2026, ", 120) + any(three), fill(heard, func() string { return tag + "1 March 2026\n" })},
		"names": {join(three, 4), fill(heard, func() string {
			return "[USER:" + any(three) + any(three) + " 2026-03-01T09:00:00Z] " + any(three) + "\n"
		})},
	}
	return out
}

// The worst texts cost work that is fixed: no more lines are ranked than their bytes
// allow, each line stands in as many windows as one has lines, and matches are
// counted once in each.
func TestWorkIsBounded(t *testing.T) {
	for name, h := range hostiles(mostBodies / 4) {
		s := of(h.bodies...)
		r := s.ranker(t, h.query)
		bytes, lines, matches := 0, 0, 0
		for i, p := range r.pages {
			bytes += len(s[i].body)
			for _, l := range p.lines {
				lines, matches = lines+1, matches+len(l.matches)
				if len(l.matches) > len(l.Text) {
					t.Fatalf("%s: %d matches in %q", name, len(l.matches), l.Text)
				}
			}
		}
		counted := 0
		for i := range r.pages {
			for from := range r.pages[i].lines {
				w := r.window(&r.pages[i], from)
				if w.to-w.from > windowLines {
					t.Fatalf("%s: a window of %d lines", name, w.to-w.from)
				}
				for _, l := range r.pages[i].lines[w.from:w.to] {
					counted += len(l.matches)
				}
			}
		}
		if lines > bytes || matches > bytes || counted > windowLines*matches || len(r.q.terms) > mostWords || len(r.q.periods) > mostPeriods {
			t.Errorf("%s: of %d bytes %d lines, %d matches, %d counted; %d terms, %d periods", name, bytes, lines, matches, counted, len(r.q.terms), len(r.q.periods))
		}
	}
}

// countdown is a context that ends when it has been asked so often.
type countdown struct {
	context.Context
	left, late int
}

func (c *countdown) Err() error {
	if c.left > 0 {
		c.left--
		return nil
	}
	c.late++
	return context.Canceled
}

// Ranking asks before each body whether anybody still waits for it, and does
// nothing more when nobody does.
func TestRankEndsWithContext(t *testing.T) {
	s := talks()
	q := analyse("who found the dog", monday)
	list := s.shortlist(q)
	for left := range 2 * len(s) {
		ctx := &countdown{Context: t.Context(), left: left}
		if out, err := rank(ctx, q, s, list); !errors.Is(err, context.Canceled) || out != nil || ctx.late != 1 {
			t.Errorf("after %d bodies: %v, %v; asked %d times more", left, out, err, ctx.late)
		}
	}
	ctx := &countdown{Context: t.Context(), left: 2 * len(s)}
	if out, err := rank(ctx, q, s, list); err != nil || len(out) == 0 || ctx.left != 0 {
		t.Errorf("%v, %v, %d of it left", out, err, ctx.left)
	}
}

// Of the originals that are found, no more are read than may be, the best first, and
// of a large one only a segment is ranked.
func TestBodiesAreBounded(t *testing.T) {
	sizes := func(list ...int64) (kept []int64) {
		s := &shortlist{}
		for _, size := range list {
			s.docs = append(s.docs, found{Doc: index.Doc{Size: size}})
		}
		s.afford()
		for _, f := range s.docs {
			kept = append(kept, f.Size)
		}
		return kept
	}
	if kept := sizes(mostRead+1, 10, mostRead); len(kept) != 1 {
		t.Errorf("beside one that is too large: %v", kept)
	}
	if kept := sizes(mostRead/2, mostRead/2+1, mostRead/2, 1); len(kept) != 2 || kept[1] != mostRead/2 {
		t.Errorf("%v", kept)
	}
	body := "◆ e1 reply\n" + strings.Repeat("x\n", 1<<20)
	if c := (Query{}).candidate(found{segment: 3}, blobs.Blob{Body: []byte(body)}); len(c.lines) > 8<<10 || len(c.lines) < 1<<10 {
		t.Errorf("%d lines are ranked", len(c.lines))
	}
}

// Lookups that nobody waits for do not pile up.
func TestLookupsAtOnce(t *testing.T) {
	w := newWorld(t)
	apple := w.says("an apple tree")
	x := w.synced()
	for range mostLookups {
		x.lookups <- struct{}{} // one that is at it
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // time enough, if there were room
	defer cancel()
	if _, err := x.Search(ctx, w.store, Query{Text: "apple"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside %d others: %v", mostLookups, err)
	}
	if _, err := x.Hints(ctx, w.store, "apple", w.now, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside %d others: %v", mostLookups, err)
	}
	<-x.lookups
	w.finds(x, "apple", apple)
	w.finds(x, "apple", apple) // the first one has made room
}

// BenchmarkWorst is what the worst texts cost, from the index to the hits.
func BenchmarkWorst(b *testing.B) {
	for name, h := range hostiles(100) {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			w.fades(h.bodies...)
			x := w.synced()
			for b.Loop() {
				if _, err := x.Search(context.Background(), w.store, Query{Text: h.query, Limit: mostHits, Now: w.now}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
