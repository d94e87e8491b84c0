package compactor

import (
	"fmt"
	"strings"
	"testing"

	"lethe/mind"
)

// ranges gives a state n adjacent ranges of a level.
func (w *world) ranges(level string, n int, change func(*mind.Range)) {
	w.t.Helper()
	for range n {
		k := w.state.Next
		w.said[k] = fmt.Sprintf("entry %d", k)
		ref, _ := w.put(fmt.Sprintf("gist of e%d: ticket-%d in src/file%d.go was fixed by ada and bob", k, k, k),
			fmt.Appendf(nil, "◆ e%d note\nentry %d\n", k, k))
		r := mind.Range{From: k, To: k, Level: level, Original: ref, Relevance: 5, Epoch: 1, At: w.now}
		if level == mind.Summary {
			r.Text = fmt.Sprintf("Ticket %d was looked at, found to be about file %d, and fixed. Nothing is open.", k, k)
			sum, _ := w.put("summary", []byte(r.Text))
			r.Summary = &sum
		}
		if change != nil {
			change(&r)
		}
		w.state.Faded = append(w.state.Faded, r)
		w.state.Next++
	}
}

// Each level is left alone up to its budget, and cut to half when it exceeds it.
func TestDecayHysteresis(t *testing.T) {
	for _, level := range []string{mind.Summary, mind.Gist} {
		w := newWorld(t, 100_000)
		budget := w.set.budget(map[string]float64{mind.Summary: summariesShare, mind.Gist: gistsShare}[level])
		n := 0
		for { // fill it up, to the last one that fits
			w.ranges(level, 1, nil)
			if _, tokens := w.level(level); tokens > budget {
				break
			}
			n++
		}
		over := w.state.Faded[n]
		w.state.Faded, w.state.Next = w.state.Faded[:n:n], w.state.Next-1
		if out := w.swap(nil); len(out.Lines) != 0 {
			t.Errorf("%s: %d fades within the budget", level, len(out.Lines))
		}
		w.state.Faded, w.state.Next = append(w.state.Faded, over), w.state.Next+1
		out := w.swap(nil)
		_, tokens := w.level(level)
		if len(out.Lines) == 0 || tokens > budget/2 || tokens < budget/4 {
			t.Errorf("%s: %d fades have left %d of %d tokens, want half", level, len(out.Lines), tokens, budget)
		}
		w.conserved()
		w.budgets(t)
	}
}

// Summaries decay by age and relevance; gists in
// the order of their age alone, 32 to a card.
func TestDecayOrder(t *testing.T) {
	w := newWorld(t, 100_000)
	w.state.Epoch, w.state.Turn = 9, 100
	n := 0
	w.ranges(mind.Summary, 140, func(r *mind.Range) {
		n++
		r.Epoch = 10
		switch {
		case n%10 == 1:
			r.Relevance = 9
		case n%10 == 3:
			r.Relevance, r.Epoch = 9, 1 // long ago
		}
	})
	w.swap(nil)
	kept := map[int]int{}
	left, _ := w.level(mind.Summary)
	for _, r := range left {
		kept[(r.From-1)%10+1]++
	}
	if kept[1] != 14 || kept[3] != 0 {
		t.Errorf("of relevant and old summaries %d and %d of 14 are left", kept[1], kept[3])
	}
	for i, r := range left {
		if k := (r.From-1)%10 + 1; k > 3 && i == 0 {
			t.Errorf("the oldest of equals is left: e%d", r.From)
		}
	}

	w = newWorld(t, 100_000)
	w.ranges(mind.Gist, 40, func(r *mind.Range) { r.Relevance = 9 })
	w.ranges(mind.Gist, 180, nil)
	w.swap(nil)
	w.conserved()
	cards, _ := w.level(mind.Card)
	for i, c := range cards {
		if c.Count != perCard || c.From != 1+32*i || c.To != 32*i+32 || c.Tier != 1 {
			t.Errorf("card %d is %+v, want the oldest 32", i, c)
		}
	}
	if len(cards) < 2 {
		t.Errorf("%d cards", len(cards))
	}
	for _, l := range w.lines {
		if l.To != mind.Card || l.Replacement.Hash.IsZero() || !l.Original.Hash.IsZero() {
			t.Errorf("a card is logged as %+v", l)
		}
	}
}

// A card that is not full takes more before another one begins, and full cards
// become a card of cards.
func TestCardsFillUp(t *testing.T) {
	w := newWorld(t, 8000)
	for range 400 {
		w.ranges(mind.Gist, 5, nil)
		w.swap(nil)
		w.budgets(t)
	}
	deepest := w.conserved()
	tiers := map[int]int{}
	for i, r := range w.state.Faded {
		tiers[tier(r)]++
		if r.Level == mind.Card && r.Count < perCard && i+1 < len(w.state.Faded) && tier(w.state.Faded[i+1]) == tier(r) {
			t.Errorf("card %d of %d ranges is followed by another", i, r.Count)
		}
	}
	if tiers[2] == 0 || deepest != 3 {
		t.Errorf("tiers %v, %d refs to the deepest", tiers, deepest)
	}
}

// A summary among old gists goes with them.
func TestCardsAndSummariesBetween(t *testing.T) {
	w := newWorld(t, 20_000)
	w.ranges(mind.Gist, 3, nil)
	w.ranges(mind.Summary, 1, nil)
	w.ranges(mind.Gist, 60, nil)
	w.swap(nil)
	w.conserved()
	if left, _ := w.level(mind.Summary); len(left) > 0 {
		t.Errorf("%d summaries are left", len(left))
	}
}

// A card whose list is lost stays, and the next gists get a card of their own.
func TestLostCard(t *testing.T) {
	w := newWorld(t, 8000)
	w.ranges(mind.Gist, 18, nil)
	w.swap(nil)
	cards, _ := w.level(mind.Card)
	if len(cards) != 1 || cards[0].Count == perCard {
		t.Fatalf("%+v", cards)
	}
	kept := w.blobs[cards[0].Original.Hash]
	delete(w.blobs, cards[0].Original.Hash)
	w.ranges(mind.Gist, 18, nil)
	w.swap(nil)
	w.blobs[cards[0].Original.Hash] = kept
	w.conserved()
	after, _ := w.level(mind.Card)
	if len(after) != 2 || after[0].Original != cards[0].Original {
		t.Errorf("%+v", after)
	}
}

func TestCardGist(t *testing.T) {
	w := newWorld(t, 100_000)
	w.ranges(mind.Gist, 250, nil)
	w.swap(nil)
	cards, _ := w.level(mind.Card)
	const want = "32 gists of 2026-11-20: fixed, ticket-1, src/file1.go, ticket-2, src/file2.go, ticket-3,…"
	if got := cards[0].Original.Gist; got != want {
		t.Errorf("a card says\n%s, want\n%s", got, want)
	}
	body := string(w.blobs[cards[0].Original.Hash])
	first := fmt.Sprintf("32 parts of the faded past, oldest first. Open one by its hash.\nhash=%s gist=gist of e1: ticket-1 "+
		"in src/file1.go was fixed by ada and bob (e1..e1, 2026-11-20 12:00)\n",
		mind.ReadCard([]byte(body))[0].Ref.Hash)
	if body[:len(first)] != first {
		t.Errorf("a card holds\n%s, want\n%s", body[:len(first)], first)
	}
}

// A new summary is shown as long as the budget has room for it: what is older goes first, and of the new
// ones the least relevant.
func TestDecayShowsWhatIsNew(t *testing.T) {
	w := newWorld(t, 60_000)
	w.set.Target = 0
	w.turns(60, 1000)
	w.ranges(mind.Summary, 30, func(r *mind.Range) { r.Relevance, r.Epoch = 3, 0 })
	fades := chunks(w, 8, 2, 5)
	for i := range fades {
		fades[i].Summary += strings.Repeat(" and more", 20)
	}
	w.swap(fades[:len(fades)-1])
	w.conserved()
	w.budgets(t)
	if _, tokens := w.level(mind.Summary); tokens <= w.set.budget(summariesShare)/2 {
		t.Errorf("%d tokens are left", tokens)
	}
	for _, r := range w.state.Faded {
		if r.Relevance >= 5 && r.Level != mind.Summary || r.Relevance == 3 && r.Level == mind.Summary {
			t.Errorf("e%d..e%d of relevance %d is a %s", r.From, r.To, r.Relevance, r.Level)
		}
	}
}

// What has been relevant for some epochs keeps its summary before recaps of today that are not.
func TestDecayKeepsARelevantSummary(t *testing.T) {
	w := newWorld(t, 15_000)
	w.state.Epoch = 4
	n := 0
	w.ranges(mind.Summary, 12, func(r *mind.Range) {
		r.Relevance, r.Epoch = 3, 4
		if n++; n == 1 {
			r.Relevance, r.Epoch = 7, 2 // a confidence
		}
		r.Text += strings.Repeat(" And so on.", 20)
	})
	w.swap(nil)
	kept, _ := w.level(mind.Summary)
	if len(kept) < 2 || len(kept) > 8 || kept[0].From != 1 {
		t.Errorf("of 12 summaries these are left: %v", kept)
	}
}

// A long summary never becomes a bare gist at once: its beginning stays for a swap, whatever is new, unless nothing fits.
func TestLongSummariesFadeInSteps(t *testing.T) {
	w := newWorld(t, 60_000)
	w.ranges(mind.Summary, 6, func(r *mind.Range) {
		r.Text = "The roof of the pier leaks. " + strings.Repeat("A plank was looked at, and another one. ", 40)
	})
	tokens := func(r mind.Range) int { return Meter(meter).of(r.Text) }
	for swaps := 0; ; swaps++ {
		before := w.state.Faded
		w.ranges(mind.Gist, 1, nil)
		w.ranges(mind.Summary, 3, func(r *mind.Range) { r.Text, r.Relevance, r.Epoch = before[0].Text, 3+swaps, w.state.Epoch })
		out := w.swap(nil)
		for i, was := range before {
			now := w.state.Faded[i]
			if was.Level == mind.Summary && tokens(was) > longSummary && now.Level != mind.Summary {
				t.Errorf("swap %d: e%d had a summary of %d tokens and is a %s", swaps, was.From, tokens(was), now.Level)
			}
			if now.Level == mind.Summary && now.Text != was.Text && (tokens(now) < topicTokens/2 || !strings.HasPrefix(now.Text, "The roof")) {
				t.Errorf("swap %d: of e%d stands %q", swaps, was.From, now.Text)
			}
		}
		w.budgets(t)
		if gists, _ := w.level(mind.Gist); len(gists) > 10 {
			return
		}
		if swaps > 20 {
			t.Fatalf("nothing fades any more: %+v", out.Lines)
		}
	}
}

// New summaries of little worth do not stand, whole or in part, while younger ones of more are bare gists: what matters
// keeps its summary for three swaps, whatever small talk comes behind it.
func TestSmallTalkDrivesNothingOut(t *testing.T) {
	for _, length := range []int{4, 12, 30} { // in sentences
		w := newWorld(t, 40_000)
		const each = 7 // ranges a swap, of which one matters
		for swap := range 30 {
			n := 0
			w.ranges(mind.Summary, each, func(r *mind.Range) {
				r.Relevance, r.Epoch = 2+n%2, w.state.Epoch
				if n++; n == 3 {
					r.Relevance = 7
				}
				r.Text = strings.Repeat("It was said once more. ", length)
			})
			w.swap(nil)
			w.budgets(t)
			var small, bare []string
			for _, r := range w.state.Faded {
				age := (w.state.Next - r.From - 1) / each
				switch {
				case r.Relevance < 7 && r.Level == mind.Summary:
					small = append(small, r.Name())
				case r.Relevance == 7 && r.Level == mind.Gist && age < 4:
					bare = append(bare, r.Name())
				}
			}
			if len(small) > 0 && len(bare) > 0 {
				t.Errorf("%d sentences, swap %d: %v are gists, and of %v summaries stand", length, swap, bare, small)
			}
		}
	}
}
