package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/internal/replay"
)

func (p *program) replayCommand() *cobra.Command {
	o := replay.Default()
	cmd := &cobra.Command{
		Use:   "replay TRACE.jsonl",
		Short: "Replay a recorded history offline and estimate its cost",
		Long: `Replay runs a recorded history through the real compactor against the offline
model, without waiting, and reports what it would have cost at DeepSeek's
off-peak prices, how much of it the cache would have served, and how far away
each byte is in the end. Nothing is sent anywhere, and the home is not touched.

A trace has one JSON object a line: {"kind":"user|asst|tool","text":"…"}. Each
asst line is a model request, answered by its text; the tool lines after it are
results of its calls. - reads it from standard input.`,
		Example: `  lethe replay trace.jsonl --limit 50000 --target 0
  lethe replay trace.jsonl --compactor mechanical --json`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			return p.replay(cmd.Context(), list[0], o)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Limit, "limit", o.Limit, "`TOKENS` of a whole request with its answer")
	fl.IntVar(&o.MaxTokens, "max-tokens", 0, "`TOKENS` kept free for an answer (default as lethe run)")
	fl.StringVar(&o.Model, "model", o.Model, "`MODEL` whose prices count: deepseek-v4-pro or deepseek-flash")
	fl.StringVar(&o.Compactor, "compactor", o.Compactor, "`HOW` summaries are made: model, or mechanical")
	fl.Float64Var(&o.Target, "target", o.Target, "`SHARE` of its size that the eligible part is brought to")
	fl.IntVar(&o.Delay, "delay", o.Delay, "`N` model requests until the answers of a compaction arrive")
	return cmd
}

func (p *program) replay(ctx context.Context, path string, o replay.Options) error {
	in := p.in
	if path != "-" {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read trace %s: %w", path, agent.ErrNotFound)
		}
		if err != nil {
			return usagef("read trace: %w", err)
		}
		defer file.Close()
		in = file
	}
	report, err := replay.Run(ctx, replay.Read(in), o)
	if errors.As(err, new(*replay.OptionError)) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	return p.print(report, "%s", report)
}
