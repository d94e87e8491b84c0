package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"lethe/blobs"
	"lethe/recall"
	"lethe/tools"
)

// Recall says how an identity is reminded of what it has forgotten.
type Recall struct {
	NoHints bool // no hints by themselves; RECALL stays
	// HintTime is the longest that a turn waits for a hint; 0 is 250 ms. What is
	// not found by then is not hinted at.
	HintTime time.Duration
}

// Bounds of a search by the agent itself.
const (
	recallHits    = 5 // unless limit asks for more
	maxRecallHits = 20
	recallTime    = 5 * time.Second
)

// recallTool lets the agent search what it has forgotten.
func (a *Agent) recallTool() tools.Tool {
	return tools.Tool{
		Name: "RECALL",
		Description: strings.TrimSpace(`
Search what has faded from your context, by words: names, numbers, file names, what was said.
Each match is a ref with its gist, when and where it was, and the passage that fits;
UNCOMPACT opens it, with offset at the passage. Use it when you need something that you
no longer see, before you ask or guess. limit is how many matches, 5 unless you say so.`),
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"words to look for, or a question"},` +
			`"limit":{"type":"integer","description":"how many matches, at most 20"}},` +
			`"required":["query"],"additionalProperties":false}`),
		Run: a.recall,
	}
}

func (a *Agent) recall(ctx context.Context, c tools.Call) tools.Result {
	var args struct {
		Query string `json:"query"`
		Limit int64  `json:"limit,omitempty"`
	}
	if err := tools.Decode(c.Args, &args); err != nil {
		return wrong("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	limit := args.Limit
	if limit <= 0 {
		limit = recallHits
	}
	var lost atomic.Int32 // a search that nobody waits for may go on counting
	hits, err := a.memory.search(ctx, func(x *recall.Index) ([]recall.Hit, error) {
		return x.Search(ctx, a.store, recall.Query{Text: args.Query, Limit: int(min(limit, maxRecallHits)), Now: time.Now(),
			Lost: func(blobs.Hash, error) { lost.Add(1) }})
	})
	also := ""
	if a.memory != nil && a.memory.behind.Load() {
		also = " The index is still being made: not all that has faded is in it yet."
	}
	if n := lost.Load(); n > 0 {
		also += fmt.Sprintf(" %d that may match cannot be read: their blobs are missing or damaged. The log says which; tell a person.", n)
	}
	switch {
	case errors.Is(err, recall.ErrEmpty):
		return wrong("the query holds no word to look for. Give names, numbers or words that must occur.")
	case err != nil:
		return wrong("search what has faded: %v. Open a ref that you see with UNCOMPACT, or try again later.", err)
	case len(hits) == 0:
		return tools.Result{Body: []byte("nothing found: nothing that has faded holds these words. Try other words, fewer of them, or names." + also)}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "matches: %d, the best first. UNCOMPACT opens one.%s", len(hits), also)
	for _, h := range hits {
		fmt.Fprintf(&b, "\n%s %s offset=%d", a.listing(h), where(h), h.Offset)
		for line := range strings.Lines(h.Passage) {
			b.WriteString("\n    " + strings.TrimRight(line, "\n"))
		}
	}
	return tools.Result{Body: []byte(b.String())}
}

// where says in which rooms a hit was, or which tools it is about.
func where(h recall.Hit) string {
	out := ""
	if len(h.Rooms) > 0 {
		out += "room=" + strings.Join(h.Rooms, ",")
	}
	if len(h.Tools) > 0 {
		out += " tool=" + strings.Join(h.Tools, ",")
	}
	return blobs.Gist(out)
}
