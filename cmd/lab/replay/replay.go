// Package replay runs a recorded stream of messages through the real mind and
// the real compactor, against the offline model and without waiting, and reports
// what it would have cost and what would have stayed in reach.
//
//	opts := replay.Default()
//	opts.Limit = 50_000
//	report, err := replay.Run(ctx, replay.Read(file), opts)
//	fmt.Print(report)
//
// A trace is JSON lines, {"kind":"user|asst|tool","text":"…"}; see Read.
// Each asst line is one model request: what package mind makes of the life so
// far, answered by the recorded text. The tool lines after it are results of its
// calls. Everything else goes by the policy of package compactor, as package agent
// goes by it; the answers of a compaction arrive some requests later, while
// requests go on.
//
// Cost follows DeepSeek's rules by whole units of the prefix cache, as package
// rehearsal counts them, at DeepSeek's off-peak prices. Tokens are rehearsal's.
//
// The same trace and options give the same Report. No file is left behind and
// nothing is sent anywhere.
package replay

import (
	"context"
	"fmt"
	"slices"

	"lethe"
	"lethe/agent/llm"
	"lethe/agent/llm/rehearsal"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/mind"
)

// run is a replay under way.
type run struct {
	opts     Options
	inputs   mind.Inputs // of its epochs
	id       *identity
	ledger   *ledger
	estimate llm.Estimator
	witness  *witness
	report   Report

	after      int      // size of the request after the last swap
	pending    *pending // whose answers are still to come
	due        int      // the request before which they arrive
	keptChunks []compactor.Fade
}

// Run replays a trace from its beginning to its end. Errors of the trace name
// the line; an option that makes no sense is an *OptionError.
func Run(ctx context.Context, trace Trace, opts Options) (Report, error) {
	r, err := begin(opts)
	if err != nil {
		return Report{}, err
	}
	for st, err := range steps(trace) {
		if err != nil {
			return Report{}, err
		}
		if err := r.step(ctx, st); err != nil {
			return Report{}, fmt.Errorf("replay request %d: %w", r.report.Main.Requests+1, err)
		}
	}
	return r.finish(), nil
}

func begin(opts Options) (*run, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	asked := opts.MaxTokens
	if asked == 0 {
		opts.MaxTokens = compactor.AnswerTokens(0, opts.Limit)
	}
	id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	tools, err := toolset()
	if err != nil {
		return nil, err
	}
	r := &run{
		opts:    opts,
		id:      id,
		witness: &witness{parts: map[string]string{}, own: map[blobs.Hash][]string{}},
		report:  Report{Options: opts},
	}
	if r.ledger, err = newLedger(opts.Model); err != nil {
		return nil, err
	}
	r.inputs = mind.Inputs{
		System: mind.System(
			self,
			id.state.Self,
			lethe.Soul,
			mind.Rules(),
			id.put("SEGMENT.md", []byte(lethe.Segment)),
			id.put("SUMMARISE.md", []byte(lethe.Summarise)),
		),
		Tools:  tools,
		Params: mind.Params{Model: opts.Model, MaxTokens: opts.MaxTokens, Thinking: "enabled"},
	}
	if err := r.renew("boot"); err != nil {
		return nil, err
	}
	if w := r.window(); w.Free() < compactor.MinFree(w.Limit) { // as the agent refuses it
		least, _ := compactor.LeastLimit(w.Fixed, compactor.MinFree(w.Limit), asked)
		return nil, &OptionError{"limit", fmt.Sprintf("%d tokens are too few: it needs at least %d", w.Limit, least)}
	}
	return r, nil
}

// step replays one model request, and what comes before and after it.
func (r *run) step(ctx context.Context, st step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.history(st)
	budget := r.estimate.Chars(r.window().Batch())
	if err := r.id.hear(st.users, budget); err != nil {
		return err
	}
	r.witness.see(r.id.state, r.id.store.read)
	if !st.answered {
		return nil
	}
	started, err := r.compactIfDue()
	if err != nil {
		return err
	}
	u, weight := r.request(st)
	if started {
		r.pending.fades, _ = r.pending.job.Run(ctx, r) // the offline model does not fail
	}
	r.estimate = r.estimate.Observe(weight, u.Input)
	if err := r.id.answer(st.answer, len(st.results), u, weight); err != nil {
		return err
	}
	err = r.id.results(st.results, budget)
	r.witness.see(r.id.state, r.id.store.read)
	return err
}

func (r *run) history(st step) {
	h := &r.report.History
	texts := slices.Concat(st.users, st.results)
	if st.answered {
		texts = append(texts, st.answer)
	}
	h.Lines += len(texts)
	for _, text := range texts {
		h.Tokens += rehearsal.Tokens(text)
	}
}

// request makes the model request that a step is, and accounts for it.
func (r *run) request(st step) (u llm.Usage, weight int) {
	messages := r.id.state.Messages("")
	reply := rehearsal.Answer{Text: st.answer}
	for range st.results {
		reply.Calls = append(reply.Calls, rehearsal.Call{Name: calledTool, Arguments: "{}"})
	}
	u = r.ledger.count(&r.report.Main, newPrompt(r.id.state.Stable, messages), reply)
	r.report.Largest = max(r.report.Largest, u.Input+r.opts.MaxTokens)
	if u.Input+r.opts.MaxTokens > r.opts.Limit {
		r.report.Over++
	}
	return u, weightOf(r.id.state.Stable, messages...)
}

// renew begins an epoch: the past is rendered anew.
func (r *run) renew(why string) error {
	r.id.state.Renew(r.inputs)
	r.id.state.Open("", nil, r.id.at)
	return r.id.epoch(why)
}

// Options say what to replay with. Begin with Default: the zero value is
// refused.
type Options struct {
	Limit     int    `json:"limit"`      // tokens of a whole request with its answer
	MaxTokens int    `json:"max_tokens"` // of an answer; 0: the agent's default for the limit
	Model     string `json:"model"`      // whose prices count, one of DeepSeek's

	Compactor string  `json:"compactor"` // ByModel or Mechanical
	Target    float64 `json:"target"`    // share of its size that the eligible part is brought to, 0 to 1
	Delay     int     `json:"delay"`     // model requests until the answers of a compaction arrive
}

// What makes the summaries.
const (
	ByModel    = "model"
	Mechanical = "mechanical"
)

// SummaryRatio is how long a summary is, as a share of its source.
const SummaryRatio = 0.12

// Default returns the options that an agent runs with by default.
func Default() Options {
	const limit = 100_000
	return Options{
		Limit: limit, Model: "deepseek-v4-pro", Compactor: ByModel,
		Target: compactor.Default(limit).Target, Delay: 3,
	}
}

// OptionError is an option that makes no sense.
type OptionError struct{ Option, Why string }

func (e *OptionError) Error() string { return fmt.Sprintf("replay with %s: %s", e.Option, e.Why) }

// check refuses what makes no sense, by name. Whether the limit leaves room for a
// conversation is checked beside the fixed parts of a request.
func (o Options) check() error {
	refuse := func(option, format string, args ...any) error {
		return &OptionError{option, fmt.Sprintf(format, args...)}
	}
	switch {
	case o.Limit <= 0:
		return refuse("limit", "%d tokens", o.Limit)
	case o.MaxTokens < 0 || o.MaxTokens >= o.Limit:
		return refuse("max-tokens", "%d of a limit of %d", o.MaxTokens, o.Limit)
	case o.Compactor != ByModel && o.Compactor != Mechanical:
		return refuse("compactor", "%q is neither %s nor %s", o.Compactor, ByModel, Mechanical)
	case !(o.Target >= 0 && o.Target <= 1):
		return refuse("target", "%g is not between 0 and 1", o.Target)
	case o.Delay < 0:
		return refuse("delay", "%d requests", o.Delay)
	}
	return nil
}
