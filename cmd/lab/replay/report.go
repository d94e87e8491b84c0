package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"lethe/agent/llm"
	"lethe/agent/llm/rehearsal"
	"lethe/compactor"
	"lethe/mind"
)

// Report is what a replay found.
type Report struct {
	Options Options `json:"options"`
	History History `json:"history"`

	Main       Tally `json:"requests"`  // the requests of the trace
	Compaction Tally `json:"compactor"` // what was asked to make room

	CacheShare float64 `json:"cache_share"`     // of all input tokens, what the cache served
	PerMillion float64 `json:"usd_per_million"` // cost of a million tokens of history

	Largest int `json:"largest_request"` // tokens, with the room for its answer
	Over    int `json:"over_limit"`      // requests larger than the limit
	Delayed int `json:"turns_delayed"`   // requests that had to wait for a compaction

	Compactions int `json:"compactions"`
	Mechanical  int `json:"mechanical"` // of Compactions, made at once and without a model
	Discarded   int `json:"discarded"`  // jobs whose answers came too late
	Summaries   int `json:"summaries"`  // asked for
	Unused      int `json:"unused"`     // of Summaries, what has replaced nothing and will not

	Context int   `json:"context_tokens"` // input of a request, on average
	Reach   Reach `json:"reach"`          // from the context as it is at the end
}

// History is what a trace holds.
type History struct {
	Lines  int `json:"lines"`
	Tokens int `json:"tokens"` // of all texts
}

func (r Report) perMillion(usd float64) float64 {
	if r.History.Tokens == 0 {
		return 0
	}
	return usd * 1e6 / float64(r.History.Tokens)
}

// finish closes the books.
func (r *run) finish() Report {
	rep := &r.report
	waiting := r.keptChunks
	if r.pending != nil {
		waiting = r.pending.fades
	}
	rep.Unused -= len(compactor.Summarised(waiting))
	rep.Reach = r.witness.reach(r.id.state, &r.id.store)
	if n := rep.Main.Requests; n > 0 {
		rep.Context = rep.Main.Input / n
	}
	all := rep.Main.plus(rep.Compaction)
	rep.CacheShare, rep.PerMillion = share(all.Cached, all.Input), rep.perMillion(all.USD)
	return *rep
}

// String is the report as a table.
func (r Report) String() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s  %s\n", name, fmt.Sprintf(format, args...))
	}
	o := r.Options
	row(
		"settings",
		"limit %d, %s, target %g, summaries %g of their source, %s",
		o.Limit,
		o.Compactor,
		o.Target,
		SummaryRatio,
		o.Model,
	)
	row("history", "%d tokens, %d lines", r.History.Tokens, r.History.Lines)
	row("requests", "%d, the largest %d tokens of %d, over the limit %d", r.Main.Requests, r.Largest, o.Limit, r.Over)
	row("turns delayed", "%d", r.Delayed)
	row(
		"compactions",
		"%d with %d model calls, %d of them mechanical, %d answered too late",
		r.Compactions,
		r.Compaction.Requests,
		r.Mechanical,
		r.Discarded,
	)
	row("summaries", "%d asked for, %d not used", r.Summaries, r.Unused)
	row(
		"input from cache",
		"%.2f %% (requests %.2f %%, compaction %.2f %%)",
		100*r.CacheShare,
		100*share(r.Main.Cached, r.Main.Input),
		100*share(r.Compaction.Cached, r.Compaction.Input),
	)
	row(
		"USD per million tokens",
		"%.2f (requests %.2f, compaction %.2f)",
		r.PerMillion,
		r.perMillion(r.Main.USD),
		r.perMillion(r.Compaction.USD),
	)
	row("context on average", "%d tokens", r.Context)
	row("bytes within reach", "%.2f %% verbatim, %.2f %% by one ref, %.2f %% by two, %.2f %% by more, %.2f %% lost",
		100*r.Reach.Refs[0], 100*r.Reach.Refs[1], 100*r.Reach.Refs[2], 100*r.Reach.Refs[3], 100*r.Reach.Unreachable)
	return b.String()
}

// Tally is what a kind of requests cost.
type Tally struct {
	Requests int     `json:"requests"`
	Input    int     `json:"input_tokens"`
	Cached   int     `json:"cached_tokens"` // of Input
	Output   int     `json:"output_tokens"`
	USD      float64 `json:"usd"`
}

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Requests + o.Requests, t.Input + o.Input, t.Cached + o.Cached, t.Output + o.Output, t.USD + o.USD}
}

// ledger accounts for requests as DeepSeek bills them, off-peak.
type ledger struct {
	model string
	cache accountant
}

func newLedger(model string) (*ledger, error) {
	if _, known := llm.Known(nil).Cost(model, llm.Usage{}, born); !known {
		return nil, &OptionError{"model", fmt.Sprintf("%q is not on DeepSeek's price list", model)}
	}
	return &ledger{model: model}, nil
}

// count accounts for a request and returns what the provider would report.
func (l *ledger) count(into *Tally, p *prompt, reply rehearsal.Answer) llm.Usage {
	u := l.cache.count(p, reply)
	usd, _ := llm.Known(nil).Cost(l.model, u, born)
	*into = into.plus(Tally{1, u.Input, u.Cached, u.Output, usd})
	return u
}

// newPrompt is a request as the provider's cache sees it.
func newPrompt(s mind.Stable, messages []mind.Message) *prompt {
	params, _ := json.Marshal(s.Params) // plain fields: cannot fail
	p := beginPrompt(string(params), string(s.Tools))
	for _, m := range messages {
		p.Add(Wire(m))
	}
	return p
}

// weightOf is that of a request.
func weightOf(s mind.Stable, messages ...mind.Message) int {
	return llm.Request{Tools: []byte(s.Tools), Messages: messages}.Weight()
}

// Wire is a message as the offline model takes it.
func Wire(m mind.Message) rehearsal.Message {
	text := m.Content.String()
	out := rehearsal.Message{Role: m.Role, Content: &text, ToolCallID: m.CallID}
	if m.Reasoning != "" {
		out.Reasoning = &m.Reasoning
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, rehearsal.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}
