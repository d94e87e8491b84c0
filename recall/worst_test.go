package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
)

// hostile is text made to be expensive: what is asked, and bodies full of it.
type hostile struct {
	query  string
	bodies []string
}

// hostiles are the worst that strangers can have an identity hear and ask for, as
// n bodies of 31 KB each.
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
			for b.Len() < 31<<10 {
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

// The worst texts cost a number of steps that is fixed. What people write is far
// from it, however long.
func TestWorkIsBounded(t *testing.T) {
	v := newVocabulary(20_000)
	var usual hostile
	for i := range 150 {
		text := ""
		for k := 0; len(text) < 8<<10; k++ {
			more, _ := original(scaleRand(100*i+k), v, i, time.Now())
			text += more
		}
		usual.bodies = append(usual.bodies, text)
		usual.query = text
	}
	all := hostiles(60)
	all["usual"] = usual
	for name, h := range all {
		s := of(h.bodies...)
		r, err := newRanker(t.Context(), analyse(h.query, monday), s, fixed(1000))
		if err != nil {
			t.Fatal(err)
		}
		worst := 0 // of one window
		for i := range s {
			for j := 0; j < len(r.pages[i].units); j += maxWindow {
				n := 0
				for _, u := range r.pages[i].units[j:min(j+maxWindow, len(r.pages[i].units))] {
					n += len(u.matches)
				}
				worst = max(worst, n)
			}
			if lines := len(r.pages[i].units); lines > mostLines+len(h.bodies[i])/(longLine/2)+1 {
				t.Errorf("%s: %d lines", name, lines)
			}
		}
		if ranking, err := rank(t.Context(), r.q, s, fixed(1000)); err != nil || len(ranking) == 0 {
			t.Errorf("%s: %d candidates fit, %v", name, len(ranking), err)
		}
		for i := range s {
			if !r.spent() {
				r.rank(i)
			}
		}
		t.Logf("%s: %d terms, %d clauses, %d steps", name, len(r.q.terms), r.q.clauses, r.tally.steps)
		if name == "usual" && r.tally.steps > mostSteps/4 {
			t.Errorf("what people write costs %d steps", r.tally.steps)
		}
		// What is begun when the steps are used up: all of a body once, a window or a
		// part of a long line, and its clauses.
		if most := mostSteps + 2*32<<10 + 4*worst + mostWords*(maxClauses+4); r.tally.steps > most {
			t.Errorf("%s: %d steps, and at most %d were to be", name, r.tally.steps, most)
		}
		if len(r.q.terms) > mostWords || len(r.q.periods) > mostPeriods {
			t.Errorf("%s: %d terms, %d periods", name, len(r.q.terms), len(r.q.periods))
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
	for left := range 2 * len(s) {
		ctx := &countdown{Context: t.Context(), left: left}
		if out, err := rank(ctx, analyse("who found the dog", monday), s, s); !errors.Is(err, context.Canceled) || out != nil || ctx.late != 1 {
			t.Errorf("after %d bodies: %v, %v; asked %d times more", left, out, err, ctx.late)
		}
	}
	ctx := &countdown{Context: t.Context(), left: 2 * len(s)}
	if out, err := rank(ctx, analyse("who found the dog", monday), s, s); err != nil || len(out) == 0 || ctx.left != 0 {
		t.Errorf("%v, %v, %d of it left", out, err, ctx.left)
	}
}

// Bodies are not read for nobody: with their blobs gone, each would be lost.
func TestBodiesEndWithContext(t *testing.T) {
	w := newWorld(t)
	h := &shelf{}
	for range 8 {
		h.docs, h.places = append(h.docs, candidate{words: 1}), append(h.places, place{id: 1, segments: 1, row: 1})
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, gone, err := h.bodies(ctx, opener{store: w.store}); err != nil || len(gone) != 8 {
		t.Errorf("%d lost, %v", len(gone), err)
	}
	cancel()
	if _, gone, err := h.bodies(ctx, opener{store: w.store}); !errors.Is(err, context.Canceled) || len(gone) != 0 {
		t.Errorf("%d lost, %v", len(gone), err)
	}
}

// Of the blobs that are found, no more are read than may be, the best first.
func TestBodiesAreBounded(t *testing.T) {
	w := newWorld(t)
	h := &shelf{}
	add := func(size int64) {
		var c candidate
		c.hash = w.put(blobs.Meta{At: w.now, Gist: fmt.Sprint(len(h.docs)), Life: w.self.String()}, "◆ e1 note\nx\n")
		if err := os.Truncate(w.store.Path(c.hash), size); err != nil { // it takes no room on the disk
			t.Fatal(err)
		}
		h.docs, h.places = append(h.docs, c), append(h.places, place{id: int64(len(h.docs) + 1), segments: min(size/segmentBytes+1, maxSegments)})
	}
	for _, size := range []int64{mostRead + 1, 10, mostRead} {
		add(size)
	}
	h.afford(w.store)
	if len(h.docs) != 1 || h.places[0].id != 1 {
		t.Errorf("beside one that is too large, %d are read", len(h.docs)-1)
	}
	h = &shelf{}
	for _, size := range []int64{mostRead / 2, mostRead/2 + 1, mostRead / 2, 1} {
		add(size)
	}
	h.afford(w.store)
	if len(h.docs) != 2 || h.places[1].id != 3 {
		t.Errorf("%d are read: %v", len(h.docs), h.places)
	}
	var many []string
	for range 3 * mostRanked / (31 << 10) / 2 {
		many = append(many, w.worked("I look.", "BASH", "{}", fmt.Sprint(w.next)+strings.Repeat(" zebra", 31<<10/6)))
	}
	h = &shelf{}
	for _, hash := range w.fades(many...) {
		h.docs, h.places = append(h.docs, candidate{hash: hash}), append(h.places, place{id: 1, segments: 1, row: 1})
	}
	cands, gone, err := h.bodies(t.Context(), opener{store: w.store, self: w.self.String()})
	size := 0
	for _, c := range cands {
		size += len(c.body)
	}
	if err != nil || len(gone) > 0 || size > mostRanked || size < mostRanked-mostBody || cands[0].hash != h.docs[0].hash {
		t.Errorf("%d bytes of %d bodies are ranked, %d lost, %v", size, len(cands), len(gone), err)
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

// The lines of what a call writes end at escapes: there may be none that ends at a
// newline.
func TestManyShortLinesOfACall(t *testing.T) {
	w := newWorld(t)
	var lines []string
	for i := range mostLines + 300 {
		lines = append(lines, fmt.Sprintf("x%d okapi", i%10))
	}
	args, err := json.Marshal(map[string]string{"content": strings.Join(lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	written := w.fades(w.worked("I write.", "WRITE_FILE", string(args), "wrote"))[0]
	said := w.says("an animal of another day")
	x := w.synced()
	w.finds(x, "okapi", written)
	w.finds(x, "another day", said)
}
