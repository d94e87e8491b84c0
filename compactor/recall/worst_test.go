package recall

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/compactor/recall/index"
)

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
