package agent

import (
	"cmp"
	"context"
	"sort"
	"time"

	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/compactor/recall"
	"lethe/life/event"
	"lethe/mind"
)

// Recall sets whether and how fast an identity is reminded of forgotten things.
type Recall struct {
	NoHints bool // no hints by themselves; RECALL stays
	// HintTime is the longest that a turn waits for a hint; 0 is 250 ms. What is
	// not found by then is not hinted at.
	HintTime time.Duration
}

// hintTime is no longer than a model call varies by anyway.
const hintTime = 250 * time.Millisecond

// hintIfDue looks up the lines that were heard and the calls that failed since the last reply, and records a hint at
// forgotten entries about them. It records no hint if nothing fits well, or the index is not at hand.
func (t *thinker) hintIfDue(ctx context.Context) error {
	texts, why := lookup.Wanted(t.State, t.hintedThrough)
	if live := t.State.Live; len(live) > 0 {
		t.hintedThrough = live[len(live)-1].N
	}
	if t.indexer == nil || t.cfg.Recall.NoHints || len(texts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.cfg.Recall.HintTime, hintTime))
	defer cancel()
	var hits []recall.Hit
	for _, text := range texts {
		found, err := t.indexer.Ask(ctx, func(x *recall.Index) (recall.Found, error) {
			return x.Hints(ctx, t.Store, text, time.Now().In(t.cfg.Zone), recall.HintConfidence)
		})
		if err != nil {
			t.Log.Debug("no hint", "error", err)
			break
		}
		hits = append(hits, lookup.Unseen(t.State, found.Hits)...)
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].Confidence > hits[j].Confidence })
	recall.Retell(t.Store, hits, t.State.Adopted)
	recall.NewerFirst(hits, t.State.Overtaken)
	lookup.MarkChanged(ctx, t.Tools, t.Store, hits)
	return t.Hint(why, hits)
}

// Hint records the best of hits, if the limit has room for it.
func (t *thinker) Hint(why string, hits []recall.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	text, refs := lookup.Compose(t.State, t.Store, hits)
	weight := llm.Weight(mind.Result([]byte(text))) + 100 // with its heading
	if t.contextTokens()+t.estimate.Tokens(weight) > t.limit() {
		return nil
	}
	return t.Commit(journal.Told(event.Hint{Why: why, Refs: refs}, "hint at "+hits[0].Gist, text))
}

// indexIfFaded tells the indexer of news, unless nothing can have faded: a compaction and a person's edit begin
// another epoch, and a fork begins with what its ancestor had faded.
func (t *thinker) indexIfFaded() {
	if t.State.Epoch > 0 || len(t.State.Faded)+len(t.State.Adopted) > 0 {
		t.indexer.Stale()
	}
}
