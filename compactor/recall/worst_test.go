package recall

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/compactor/recall/index"
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
	words := make([]string, 700)
	for i := range words {
		for range 3 {
			words[i] += string(rune('a' + r.IntN(26)))
		}
	}
	any := func() string { return words[r.IntN(len(words))] }
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
	const heard, stamp = "◆ e5 inbound room=dev\n", " 2026-03-01T09:00:00Z] "
	all := strings.Join(words, " ")
	return map[string]hostile{
		"lines":   {all, fill("◆ e5 reply\n", func() string { return any() + "\n" })},
		"chat":    {all, fill(heard, func() string { return "[USER:m" + stamp + any() + "\n" })},
		"message": {all, fill(heard+"[USER:m"+stamp, func() string { return any() + " " })},
		"names":   {all, fill(heard, func() string { return "[USER:" + any() + any() + stamp + any() + "\n" })},
		"dates": {strings.Repeat("on 1 March 2026, on 2 March 2026, ", 120),
			fill(heard, func() string { return "[USER:m" + stamp + "1 March 2026\n" })},
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
	for left := range len(s) {
		ctx := &countdown{Context: t.Context(), left: left}
		if out, err := rank(ctx, q, s, list); !errors.Is(err, context.Canceled) || out != nil || ctx.late != 1 {
			t.Errorf("after %d bodies: %v, %v; asked %d times more", left, out, err, ctx.late)
		}
	}
	ctx := &countdown{Context: t.Context(), left: len(s)}
	if out, err := rank(ctx, q, s, list); err != nil || len(out) == 0 || ctx.left != 0 {
		t.Errorf("%v, %v, %d of it left", out, err, ctx.left)
	}
}

// Of the originals that are found, no more are read than may be, the best first, and
// of a large one only a segment is ranked.
func TestBodiesAreBounded(t *testing.T) {
	sizes := func(list ...int64) (kept []int64) {
		var docs []index.Doc
		for _, size := range list {
			docs = append(docs, index.Doc{Size: size})
		}
		for _, f := range affordable(docs) {
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
	if c := (Query{}).candidate(index.Doc{Segment: 3}, blobs.Blob{Body: []byte(body)}); len(c.lines) > 8<<10 || len(c.lines) < 1<<10 {
		t.Errorf("%d lines are ranked", len(c.lines))
	}
}

// BenchmarkWorst is what the worst texts cost, from the index to the hits.
func BenchmarkWorst(b *testing.B) {
	for name, h := range hostiles(100) {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			w.fades(h.bodies...)
			x := w.synced()
			for b.Loop() {
				if _, err := x.Search(context.Background(), w.store, Query{Text: h.query, Limit: 50, Now: w.now}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
