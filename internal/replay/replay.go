// Package replay runs a recorded stream of messages through the real mind and
// the real compactor, against the offline model and without waiting, and says
// what living through it would have cost and what would have stayed in reach.
//
//	opts := replay.Default()
//	opts.Limit = 50_000
//	report, err := replay.Run(ctx, replay.NewReader(file), opts)
//	fmt.Print(report)
//
// A trace is JSON lines, {"kind":"user|asst|tool","text":"…"}; see Reader.
// Generate makes one that looks like a coding agent's, LoCoMo reads another kind.
// Each asst line is one model request: what package mind makes of the life so
// far, answered by the recorded text. The tool lines after it are results of its
// calls. Results and room lines are clipped to the budgets that package agent
// has; compaction starts at the same threshold, its answers arrive some requests
// later while requests go on, and when the limit is reached before, the
// mechanical path compacts at once.
//
// Cost follows DeepSeek's rules by whole units of the prefix cache, as package
// rehearsal counts them, at DeepSeek's off-peak prices. Tokens are rehearsal's.
//
// The same trace and options give the same Report. No file is left behind and
// nothing is sent anywhere.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"lethe"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// Options say what to replay with. Begin with Default: the zero value is
// refused.
type Options struct {
	Limit     int    `json:"limit"`      // tokens of a whole request with its answer
	MaxTokens int    `json:"max_tokens"` // of an answer; 0: the agent's default for the limit
	Model     string `json:"model"`      // whose prices count, one of DeepSeek's

	Order     string  `json:"order"`     // OrderEpoch, or OrderTail: MEMORY and LIFE last, renewed with each request
	Compactor string  `json:"compactor"` // one of Compactors
	Target    float64 `json:"target"`    // share of its size that the eligible part is brought to, 0 to 1
	By        string  `json:"by"`        // what fades first: compactor.Relevance or compactor.Oldest
	MinChunk  int     `json:"min_chunk"` // tokens; 0: the compactor's default
	Alone     bool    `json:"alone"`     // the compactor's requests are self-contained instead of forks
	Parallel  int     `json:"parallel"`  // SUMMARISE calls at once; of no influence on the Report

	SummaryRatio float64 `json:"summary_ratio"` // length of a summary as a share of its source, over 0 to 1
	Delay        int     `json:"delay"`         // model requests until the answers of a compaction arrive
}

// Orders of a request.
const (
	OrderEpoch = "epoch"
	OrderTail  = mind.OrderTail
)

// Default returns the options that an agent runs with by default, and summaries
// of 12 % of their source.
func Default() Options {
	return Options{
		Limit: 100_000, Model: "deepseek-v4-pro", Order: OrderEpoch, Compactor: ByModel,
		Target: defaults.Target, By: defaults.Order, Parallel: defaults.Parallel,
		SummaryRatio: 0.12, Delay: 3,
	}
}

// run is a replay under way.
type run struct {
	opts     Options
	id       *identity
	ledger   *ledger
	trunk    *trunk
	estimate llm.Estimator
	forget   forgetter
	witness  *witness
	report   Report

	after      int // size of the request after the last swap
	pending    job // whose answers are still to come
	due        int // the request before which they arrive
	verbatim   int // sum over requests of tokens of live entries
	stable     int // weight of the messages before the live entries
	stableText string
}

// Run replays a trace from its beginning to its end. Errors of the trace name
// the line; an option that makes no sense is an *OptionError.
func Run(ctx context.Context, trace Source, opts Options) (Report, error) {
	r, err := begin(opts)
	if err != nil {
		return Report{}, err
	}
	steps := steps{src: trace}
	for {
		st, err := steps.next()
		if errors.Is(err, io.EOF) {
			return r.finish(), nil
		}
		if err == nil {
			err = r.step(ctx, st)
		}
		if err != nil {
			return Report{}, err
		}
	}
}

// maxAnswer bounds what is kept free for an answer, as package agent does.
const maxAnswer = 16 << 10

func begin(opts Options) (*run, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	asked := opts.MaxTokens
	if asked == 0 {
		opts.MaxTokens = min(maxAnswer, opts.Limit/6)
	}
	id, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("begin replay: %w", err)
	}
	tools, err := toolset()
	if err != nil {
		return nil, fmt.Errorf("begin replay: %w", err)
	}
	r := &run{opts: opts, id: id, witness: newWitness(), report: Report{Options: opts}}
	if r.ledger, err = newLedger(opts.Model); err != nil {
		return nil, err
	}
	s := id.state
	s.Stable = mind.Stable{
		System: mind.System(self, s.Self, lethe.Soul, id.put("SEGMENT.md", []byte(lethe.Segment)), id.put("SUMMARISE.md", []byte(lethe.Summarise))),
		Tools:  tools,
		Params: mind.Params{Model: opts.Model, MaxTokens: opts.MaxTokens, Thinking: "enabled", Order: opts.order()},
	}
	if err := r.renew("boot"); err != nil {
		return nil, fmt.Errorf("begin replay: %w", err)
	}
	r.trunk = newTrunk(s.Stable)
	r.forget = r.forgetter()
	return r, r.fits(asked)
}

// order is the order as mind has it.
func (o Options) order() string {
	if o.Order == OrderTail {
		return mind.OrderTail
	}
	return ""
}

// fits refuses a limit that leaves no room to live in, as the agent does.
func (r *run) fits(asked int) error {
	const living = 8000
	ground := r.ground()
	if r.opts.Limit >= ground+r.opts.MaxTokens+living {
		return nil
	}
	need := ground + living + asked
	if asked == 0 { // the answer has a sixth of the limit, up to its bound
		need += min(maxAnswer, need/5+1)
	}
	return &OptionError{"limit", fmt.Sprintf("%d tokens are too few: with %d for the fixed parts, %d for living and the answer it takes %d", r.opts.Limit, ground, living, need)}
}

// size estimates a request of so many weighted characters, with its answer.
func (r *run) size(weight int) int { return r.estimate.Tokens(weight) + r.opts.MaxTokens }

// ground estimates what no forgetting makes smaller.
func (r *run) ground() int {
	stable := r.id.state.Stable
	system := mind.Message{Role: "system", Content: stable.System}
	return r.estimate.Tokens(weigh(system) + llm.Weight(string(stable.Tools)))
}

// space is what the limit leaves for the past and the live entries, in tokens.
func (r *run) space() int { return max(0, r.opts.Limit-r.ground()-r.opts.MaxTokens) }

// step replays one model request, and what comes before and after it.
func (r *run) step(ctx context.Context, st step) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	r.history(st)
	budget := r.estimate.Chars(min(r.opts.Limit/8, r.space()/4))
	if err := r.id.hear(st.users, budget); err != nil {
		return fmt.Errorf("replay request %d: %w", r.report.Main.Requests+1, err)
	}
	r.witness.see(r.id.state, r.id.store.read)
	if !st.answered {
		return nil
	}
	started, err := r.makeRoom()
	if err != nil {
		return fmt.Errorf("replay request %d: %w", r.report.Main.Requests+1, err)
	}
	u, weight := r.request(st)
	if started {
		r.pending.ask(ctx)
		r.due = r.report.Main.Requests + r.opts.Delay
	}
	r.estimate = r.estimate.Observe(weight, u.Input)
	if err := r.id.answer(st.answer, len(st.results), u, weight); err != nil {
		return fmt.Errorf("replay request %d: %w", r.report.Main.Requests, err)
	}
	if err := r.id.results(st.results, budget); err != nil {
		return fmt.Errorf("replay request %d: %w", r.report.Main.Requests, err)
	}
	r.witness.see(r.id.state, r.id.store.read)
	return nil
}

func (r *run) history(st step) {
	h := &r.report.History
	for _, text := range append(st.users, st.results...) {
		h.Bytes += len(text)
		h.Tokens += rehearsal.Tokens(text)
	}
	h.Bytes += len(st.answer)
	h.Tokens += rehearsal.Tokens(st.answer)
	h.Lines += len(st.users) + len(st.results)
	if st.answered {
		h.Lines++
	}
}

// tail is what goes last in the classic order.
func (r *run) tail() string {
	if r.opts.Order != OrderTail {
		return ""
	}
	return mind.Notes("", r.recent())
}

// recent is the end of LIFE as a prompt shows it: within a tenth of the space.
func (r *run) recent() []string {
	most, weight := r.estimate.Chars(r.space())/10, 0
	for i, line := range slices.Backward(r.id.lines) {
		if weight += llm.Weight(line) + 1; weight > most {
			return r.id.lines[i+1:]
		}
	}
	return r.id.lines
}

// last is the tail as a message of its own, or nothing.
func (r *run) last() []mind.Message {
	if tail := r.tail(); tail != "" {
		return []mind.Message{{Role: "user", Content: tail}}
	}
	return nil
}

// prompt is the next request and its weight.
func (r *run) prompt() (*rehearsal.Prompt, int) {
	r.trunk.follow(r.id.state.Messages(""))
	return r.trunk.with(r.last()...)
}

// request makes the model request that a step is, and accounts for it.
func (r *run) request(st step) (u llm.Usage, weight int) {
	p, weight := r.prompt()
	reply := rehearsal.Answer{Text: st.answer}
	for range st.results {
		reply.Calls = append(reply.Calls, rehearsal.Call{Name: calledTool, Arguments: "{}"})
	}
	u = r.ledger.count(&r.report.Main, p, reply)
	r.report.Largest = max(r.report.Largest, u.Input+r.opts.MaxTokens)
	if u.Input+r.opts.MaxTokens > r.opts.Limit {
		r.report.Over++
	}
	if s := r.id.state.Stable; s.Past != r.stableText {
		r.stableText = s.Past
		r.stable = llm.Weight(string(s.Tools))
		for _, m := range r.trunk.messages[:2] {
			r.stable += weigh(m)
		}
	}
	r.verbatim += int(int64(u.Input) * int64(r.trunk.weight-r.stable) / int64(weight))
	return u, weight
}

// renew begins an epoch: the past is rendered anew.
func (r *run) renew(why string) error {
	s := r.id.state
	if s.Stable.Past != "" {
		s.Epoch++
	}
	s.Stable.Past = s.Past("", r.recent())
	if r.opts.Order == OrderTail {
		s.Stable.Past = s.FadedPast()
	}
	return r.id.epoch(why)
}
