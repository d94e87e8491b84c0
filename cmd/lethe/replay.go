package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lethe/internal/replay"
)

// replayFlags are what a replay is given beside its options.
type replayFlags struct {
	generate int    // tokens of a trace to write; 0 replays
	seed     uint64 // of the trace to write
	locomo   string // a conversation to replay instead of a trace
}

func (p *program) replayCommand() *cobra.Command {
	o := replay.Default()
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [TRACE.jsonl]",
		Short: "Live through a recorded history offline, and say what it would have cost",
		Long: `Replay runs a recorded stream through the real mind and compactor against the
offline model, without waiting, and reports what it would have cost at DeepSeek's
off-peak prices, how much of it the cache would have served, and how far away
each byte is in the end. Nothing is sent anywhere, and the home is not touched.

A trace has one JSON object a line: {"kind":"user|asst|tool","text":"…"}. Each
asst line is a model request, answered by its text; the tool lines after it are
results of its calls. - reads it from standard input.

--compactor says how room is made: by the ` + "`model`" + `; by the ` + "`mechanical`" + ` path alone; or,
for comparison, as others do: ` + "`halve`" + ` (the older half becomes one summary),
` + "`rewrite`" + ` (everything becomes one summary) and ` + "`classic`" + ` (summaries of
summaries by self-contained requests; with --order tail).`,
		Example: `  lethe replay --generate 2000000 > trace.jsonl
  lethe replay trace.jsonl --limit 50000 --target 0
  lethe replay trace.jsonl --compactor halve --json`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			return p.replay(cmd.Context(), list, o, f)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Limit, "limit", o.Limit, "tokens of a whole request with its answer")
	fl.IntVar(&o.MaxTokens, "max-tokens", 0, "tokens kept free for an answer (default as lethe run)")
	fl.StringVar(&o.Model, "model", o.Model, "whose prices count: deepseek-v4-pro or deepseek-flash")
	fl.StringVar(&o.Order, "order", o.Order, "epoch, or tail: MEMORY and LIFE last in each request")
	fl.StringVar(&o.Compactor, "compactor", o.Compactor, strings.Join(replay.Compactors(), ", "))
	fl.Float64Var(&o.Target, "target", o.Target, "share of its size that the eligible part is brought to")
	fl.StringVar(&o.By, "by", o.By, "what fades first: relevance (the least relevant) or oldest")
	fl.IntVar(&o.MinChunk, "min-chunk", 0, "tokens below which a chunk joins its neighbour (default the compactor's)")
	fl.BoolVar(&o.Alone, "alone", false, "self-contained requests of the compactor instead of forks")
	fl.IntVar(&o.Parallel, "parallel", o.Parallel, "summaries made at once")
	fl.Float64Var(&o.SummaryRatio, "summary-ratio", o.SummaryRatio, "length of a summary as a share of its source")
	fl.IntVar(&o.Delay, "delay", o.Delay, "model requests until the answers of a compaction arrive")
	fl.IntVar(&f.generate, "generate", 0, "write a trace of so many tokens to standard output instead")
	fl.Uint64Var(&f.seed, "seed", 1, "of the trace to write")
	fl.StringVar(&f.locomo, "locomo", "", "replay a conversation of the LoCoMo data set instead")
	return cmd
}

func (p *program) replay(ctx context.Context, list []string, o replay.Options, f replayFlags) error {
	if f.generate != 0 {
		return p.generate(list, f)
	}
	trace, done, err := p.trace(list, f)
	if err != nil {
		return err
	}
	defer done()
	report, err := replay.Run(ctx, trace, o)
	var option *replay.OptionError
	switch {
	case errors.As(err, &option):
		return usageError{err}
	case err != nil:
		return err
	case p.json:
		return p.printJSON(report)
	}
	_, err = fmt.Fprint(p.out, report)
	return err
}

func (p *program) generate(list []string, f replayFlags) error {
	if f.generate < 0 || len(list) > 0 || f.locomo != "" {
		return usagef("--generate takes a number of tokens over 0, and nothing to replay")
	}
	out := bufio.NewWriter(p.out)
	if err := replay.Generate(out, f.generate, f.seed); err != nil {
		return err
	}
	return out.Flush()
}

// trace opens what is to be replayed. done closes it.
func (p *program) trace(list []string, f replayFlags) (trace replay.Source, done func(), err error) {
	if (f.locomo == "") == (len(list) == 0) {
		return nil, nil, hint(usagef("nothing, or too much, to replay"), "name one trace (- is standard input), or one conversation with --locomo")
	}
	if len(list) > 0 && list[0] == "-" {
		return replay.NewReader(p.in), func() {}, nil
	}
	path := f.locomo
	if path == "" {
		path = list[0]
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, usagef("open what to replay: %w", err)
	}
	if f.locomo == "" {
		return replay.NewReader(file), func() { file.Close() }, nil
	}
	defer file.Close()
	items, err := replay.LoCoMo(file)
	return &items, func() {}, err
}
