package agent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/compactor/recall"
	"lethe/life/event"
	"lethe/mind"
)

// Recall says how an identity is reminded of what it has forgotten.
type Recall struct {
	NoHints bool // no hints by themselves; RECALL stays
	// HintTime is the longest that a turn waits for a hint; 0 is 250 ms. What is
	// not found by then is not hinted at.
	HintTime time.Duration
}

// hintTime is no longer than a model call varies by anyway.
const hintTime = 250 * time.Millisecond

// hintIfDue looks up what was heard and what failed since the last reply, and records a hint at what the
// identity has forgotten about it. When nothing fits well, or the index is not at hand, there is none.
func (a *Agent) hintIfDue(ctx context.Context) error {
	texts, why := lookup.Wanted(a.state, a.hintedThrough)
	if live := a.state.Live; len(live) > 0 {
		a.hintedThrough = live[len(live)-1].N
	}
	if len(texts) == 0 || a.cfg.Recall.NoHints || a.indexer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.cfg.Recall.HintTime, hintTime))
	defer cancel()
	var hits []recall.Hit
	for _, text := range texts {
		found, err := a.indexer.Ask(ctx, func(x *recall.Index) (recall.Found, error) {
			return x.Hints(ctx, a.store, text, time.Now(), recall.HintConfidence)
		})
		if err != nil {
			a.cfg.Log.Debug("no hint", "error", err)
			break
		}
		hits = append(hits, lookup.Unseen(a.state, found.Hits)...)
	}
	slices.SortStableFunc(hits, func(x, y recall.Hit) int { return cmp.Compare(y.Confidence, x.Confidence) })
	recall.NewerFirst(hits, a.state.Overtaken)
	return a.hint(why, hits)
}

// hint records the best of hits, as far as the limit has room for it.
func (a *Agent) hint(why string, hits []recall.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	text, refs := lookup.Compose(a.state, a.store, hits)
	weight := llm.Weight(mind.Result([]byte(text))) + 100 // with its heading
	if a.contextTokens()+a.estimate.Tokens(weight) > a.limit() {
		return nil
	}
	return a.commit(journal.Told(event.Hint{Why: why, Refs: refs}, "hint at "+hits[0].Gist, text))
}

// startIndexer begins to keep the index.
func (a *Agent) startIndexer() {
	a.indexer = recall.Keep(recall.Open(a.id.RecallPath(), a.reach.Owns, a.cfg.Log), a.store, a.id.LIFE())
	a.reach.Index = a.indexer
	a.indexIfFaded()
}

// indexIfFaded tells the indexer of news, unless nothing can have faded: a compaction and a person's edit begin
// another epoch, and a fork begins with what its ancestor had faded.
func (a *Agent) indexIfFaded() {
	if a.state.Epoch > 0 || len(a.state.Faded) > 0 {
		a.indexer.Stale()
	}
}
