package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"lethe/blobs"
	"lethe/llm"
	"lethe/mind"
	"lethe/recall"
	"lethe/tools"
)

// past lets the tools open what the identity may see, search what it has
// forgotten, and begin a compaction.
type past Agent

// minPage is how many weighted characters a page shows at least, of however many
// that are asked for at once.
const minPage = 200

// searchTime bounds a search by the agent itself.
const searchTime = 5 * time.Second

// Received opens a ref by the grants as they were when the call began.
func (p *past) Received(hash string) (gist string, body []byte, err error) {
	a := (*Agent)(p)
	b, _, err := a.open(hash, a.call.granted)
	return b.Gist, b.Body, err
}

func (p *past) Open(ref string) (tools.Original, error) {
	a := (*Agent)(p)
	b, short, err := a.open(ref, a.state.Grants)
	if err != nil {
		return tools.Original{}, err
	}
	a.call.opened = b.Hash.String()
	return tools.Original{Hash: short, Gist: b.Gist, At: b.At, Body: b.Body, Most: max(minPage, min(a.pageSize(), a.call.share)),
		Weight: func(text string) int { return llm.Weight(mind.Result([]byte(text), 0, mind.Ref{})) }}, nil
}

// open returns the blob behind a ref, or behind its hash alone, if it is one of the
// life's own or in grants.
func (a *Agent) open(ref string, grants map[string]bool) (b blobs.Blob, short string, err error) {
	short = strings.TrimSpace(ref)
	if refs := blobs.ParseRefs(short); len(refs) == 1 {
		short = refs[0].Hash
	}
	short = strings.TrimPrefix(short, "hash=")
	h, err := resolve(short, a.store, a.id.Self)
	if err != nil {
		return b, short, err
	}
	if b, err = a.store.Get(h); err != nil {
		return b, short, err
	}
	if b.Life != a.id.Self && h.String() != a.id.Self && !grants[h.String()] {
		return blobs.Blob{}, short, fmt.Errorf("resolve %q: no such blob", short)
	}
	return b, short, nil
}

func (p *past) Search(ctx context.Context, query string, limit int) (matches []tools.Match, remark string, err error) {
	a := (*Agent)(p)
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var lost atomic.Int32 // a search that has timed out may go on counting
	hits, err := a.indexer.search(ctx, func(x *recall.Index) ([]recall.Hit, error) {
		return x.Search(ctx, a.store, recall.Query{Text: query, Limit: limit, Now: time.Now(), Lost: func(blobs.Hash, error) { lost.Add(1) }})
	})
	if errors.Is(err, recall.ErrEmpty) {
		err = tools.ErrNoWords
	}
	if a.indexer.behind.Load() {
		remark = " The index is still being made: not all that has faded is in it yet."
	}
	if n := lost.Load(); n > 0 {
		remark += fmt.Sprintf(" %d that may match cannot be read: their blobs are missing or damaged. The log says which; tell a person.", n)
	}
	for _, h := range hits {
		where := ""
		if len(h.Rooms) > 0 {
			where = "room=" + strings.Join(h.Rooms, ",")
		}
		if len(h.Tools) > 0 {
			where += " tool=" + strings.Join(h.Tools, ",")
		}
		matches = append(matches, tools.Match{Listing: a.listing(h), Where: blobs.Gist(where), Offset: h.Offset, Passage: h.Passage})
	}
	return matches, remark, err
}

func (p *past) Compact() error {
	a := (*Agent)(p)
	if a.forgetting.job != nil {
		return errors.New("a compaction is under way already; its summaries come in by themselves")
	}
	if !a.window().Grown(a.contextTokens(), a.forgetting.after) {
		return errors.New("you have just forgotten what could be forgotten; little has come in since")
	}
	a.forgetting.requestedBy = "agent"
	return nil
}
