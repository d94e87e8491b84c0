package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
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

// Bounds of a hint. A turn waits no longer for one than a model call varies
// by anyway, and it stays a remark at the end of the context.
const (
	hintTime     = 250 * time.Millisecond
	hintLines    = 3
	hintMessages = 8   // the newest messages that are looked up
	hintChars    = 500 // of a failed call, and of its result, that are looked up
)

// hintIfDue looks up what was heard and what failed since the last reply, and records a hint at what the
// identity has forgotten about it. When nothing fits well, or the index is not at hand, there is none.
func (a *Agent) hintIfDue(ctx context.Context) error {
	texts, why := a.prompting()
	if len(texts) == 0 || a.cfg.Recall.NoHints || a.indexer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.cfg.Recall.HintTime, hintTime))
	defer cancel()
	var hits []recall.Hit
	for _, text := range texts {
		found, err := a.indexer.search(ctx, func(x *recall.Index) ([]recall.Hit, error) {
			return x.Hints(ctx, a.store, text, time.Now(), recall.HintConfidence)
		})
		if err != nil {
			a.cfg.Log.Debug("no hint", "error", err)
			break
		}
		hits = append(hits, a.unseen(found)...)
	}
	slices.SortStableFunc(hits, func(x, y recall.Hit) int { return cmp.Compare(y.Confidence, x.Confidence) })
	recall.NewerFirst(hits, a.state.Overtaken)
	return a.hint(why, hits)
}

// hint records the best of hits, as far as the limit has room for it.
func (a *Agent) hint(why string, hits []recall.Hit) error {
	hint := event.Hint{N: a.state.Next, Why: why}
	text := "These may matter now, from what has faded (UNCOMPACT shows all):"
	named := map[blobs.Hash]bool{}
	for _, h := range hits {
		if len(named) == hintLines {
			break
		}
		if !named[h.Hash] {
			named[h.Hash] = true
			hint.Refs = append(hint.Refs, h.Hash.String())
			if slices.ContainsFunc(a.state.Faded, func(r mind.Range) bool { return r.Original.Hash == h.Hash }) {
				h.Gist = "" // it stands in sight
			}
			shown := h.Passage
			if len(named) == 1 { // of the best also how its turn ended, or the answer to what was asked
				shown = h.Shown()
			}
			text += "\n" + a.listing(h) + tools.Indented(shown)
		}
	}
	weight := llm.Weight(mind.Result([]byte(text))) + 100 // with its heading
	if len(named) == 0 || a.contextTokens()+a.estimate.Tokens(weight) > a.limit() {
		return nil
	}
	return a.commit(record{event: hint, bodies: []body{{"hint at " + hits[0].Gist, []byte(text)}}})
}

// listing is the line that names a hit, as cards list what they stand for.
func (a *Agent) listing(h recall.Hit) string {
	ref := blobs.Ref{Hash: a.store.Short(h.Hash), Gist: h.Gist}
	return mind.Listing{Ref: ref, From: h.From, To: h.To, At: h.At, Overtaken: h.Overtaken}.String()
}

// prompting returns what to look up: the newest messages heard since its last reply, but for answers to what
// it has asked and what triggers and jobs say, and that reply's calls that failed. Each is returned once.
func (a *Agent) prompting() (texts []string, why string) {
	live := a.state.Live
	i := len(live)
	for i > 0 && live[i-1].N > a.hintedThrough && live[i-1].Kind != mind.Hint {
		i--
	}
	for _, e := range live[i:] {
		switch e.Kind {
		case mind.Inbound:
			why = "inbound"
			for _, l := range messages(e.Text) {
				trigger := func(w mind.Wake) bool { return w.Room == e.Room && w.By == l.Name }
				if e.About == nil && !slices.ContainsFunc(a.state.Wakes, trigger) {
					texts = append(texts, l.Text)
				}
			}
		case mind.Reply:
			texts = nil // it has answered what came before
			if failed := failures(e); len(failed) > 0 {
				texts, why = failed, "failed"
			}
		}
	}
	if len(live) > 0 {
		a.hintedThrough = live[len(live)-1].N
	}
	return texts[max(0, len(texts)-hintMessages):], why
}

// messages are the lines of a rendered inbound entry, or of a passage.
func messages(rendered string) []chat.Line {
	var out []chat.Line
	for line := range strings.Lines(rendered) {
		if strings.HasPrefix(line, "◳ ") { // says what is not shown
			continue
		}
		text := blobs.Unescape(strings.TrimRight(line, "\n"))
		if more, ok := strings.CutPrefix(text, "    "); ok && len(out) > 0 {
			out[len(out)-1].Text += "\n" + more
			continue
		}
		out = append(out, chat.Parse([]byte(text)))
	}
	return out
}

// failures are the calls of a reply that failed: what was tried, and apart from
// it the beginning of what came of it.
func failures(e *mind.Entry) []string {
	var out []string
	for _, c := range e.Calls {
		if c.Status == mind.Failed {
			out = append(out, arguments(blobs.Unescape(c.Args)), clipped(blobs.Unescape(c.Text)))
		}
	}
	return out
}

// arguments are the texts of a call's arguments, without their names.
func arguments(raw string) string {
	var args map[string]any
	if json.Unmarshal([]byte(raw), &args) != nil {
		return clipped(raw)
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if text, ok := args[name].(string); ok {
			texts = append(texts, text)
		}
	}
	return clipped(strings.Join(texts, "\n"))
}

func clipped(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), hintChars)])
}

// unseen returns the hits that are worth a hint: none when the best stands in sight, for the others fit worse, else
// those that do not. In sight is a passage whose longest line the live context has, as an opened original, what RECALL
// found or a hint does, and one of which its summary, a pin or a line of MEMORY tells as much.
func (a *Agent) unseen(hits []recall.Hit) []recall.Hit {
	if len(hits) == 0 {
		return nil
	}
	var live strings.Builder
	for _, e := range a.state.Live {
		live.WriteString(e.Plain() + "\n")
	}
	notes, _, _ := strings.Cut(a.state.Stable.Notes(), "\n◆ life") // LIFE says that something was said, and not what
	seen := func(h recall.Hit) bool {
		passage, longest := "", ""
		for _, l := range messages(h.Passage) {
			passage += l.Text + "\n"
		}
		for line := range strings.Lines(passage) {
			if len(line) > len(longest) {
				longest = strings.Trim(line, "… \n") // where a long message was cut
			}
		}
		tells := func(text string) bool { return recall.Told(passage, text) }
		return strings.Contains(live.String(), blobs.Escape(longest)) || slices.ContainsFunc(strings.Split(notes, "\n"), tells) ||
			slices.ContainsFunc(a.state.Faded, func(r mind.Range) bool { return r.Original.Hash == h.Hash && tells(r.Text) })
	}
	if seen(hits[0]) {
		return nil
	}
	return slices.DeleteFunc(hits, seen)
}

// RecallPath is where the index over what an identity has forgotten is. It can be
// deleted at any time.
func (id Identity) RecallPath() string { return filepath.Join(id.Dir, "recall.db") }

// indexer keeps the index while the identity runs, once something has faded. A goroutine of its own brings
// it up to date, so that no turn waits for it. Whatever happens to the index, the
// identity goes on.
type indexer struct {
	a      *Agent // of which its goroutines use only what never changes
	index  *recall.Index
	used   atomic.Bool   // something may have faded; until then nothing is opened
	behind atomic.Bool   // something that has faded is not in the index yet
	news   chan struct{} // has one when the log has something new
	cancel context.CancelFunc
	done   chan struct{}
}

const indexRetry = 5 * time.Second // after a failure

// startIndexer begins to keep the index.
func (a *Agent) startIndexer() {
	ctx, cancel := context.WithCancel(context.Background())
	a.indexer = &indexer{a: a, index: recall.Open(a.id.RecallPath(), a.state.Owns, a.cfg.Log), news: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	a.indexIfFaded()
	go a.indexer.run(ctx) // ends with stopIndexer
}

// indexIfFaded tells the indexer of news, unless nothing can have faded: a compaction and a person's edit begin
// another epoch, and a fork begins with what its ancestor had faded.
func (a *Agent) indexIfFaded() {
	if a.state.Epoch > 0 || len(a.state.Faded) > 0 {
		a.indexer.stale()
	}
}

// stopIndexer ends the goroutine.
func (a *Agent) stopIndexer() {
	a.indexer.cancel()
	<-a.indexer.done
}

// run brings the index up to date whenever there is news; after a failure
// also from time to time.
func (x *indexer) run(ctx context.Context) {
	defer close(x.done)
	failed := false
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-x.news:
		}
		err := x.sync(ctx)
		if ctx.Err() != nil {
			return
		}
		if again = nil; err != nil {
			again = time.After(indexRetry)
		}
		if err != nil && !failed && !errors.Is(err, recall.ErrBusy) { // busy: another process does it
			failed = true
			x.a.cfg.Log.Warn("what has faded cannot be indexed now; it is tried again, and everything else goes on", "error", err)
		}
		failed = failed && err != nil
	}
}

// sync lets the index read the log. A panic is an error: a cache must not take the
// life with it.
func (x *indexer) sync(ctx context.Context) (err error) {
	defer x.a.recovered(&err)
	added, err := x.index.Sync(ctx, x.a.store, x.a.id.LIFE())
	if err == nil {
		x.behind.Store(false)
		x.a.cfg.Log.Debug("indexed what has faded", "originals", added)
	}
	return err
}

// stale says that the log has something new for the index.
func (x *indexer) stale() {
	if x == nil { // the identity does not run
		return
	}
	x.used.Store(true)
	x.behind.Store(true)
	select {
	case x.news <- struct{}{}:
	default: // it has yet to look anyway
	}
}

// search asks the index, and waits no longer than ctx lasts, whatever the index
// does.
func (x *indexer) search(ctx context.Context, ask func(*recall.Index) ([]recall.Hit, error)) ([]recall.Hit, error) {
	if !x.used.Load() {
		return nil, nil
	}
	var hits []recall.Hit
	var err error
	answered := make(chan struct{})
	go func() { // ends with ask, which ends with ctx or soon after
		defer close(answered)
		defer x.a.recovered(&err)
		hits, err = ask(x.index)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(err, recall.ErrRebuilding) {
		x.stale()
	}
	return hits, err
}
