// Command lab measures Lethe: what it costs, and how well it forgets and finds again.
// Nothing of it is in the program that users run.
//
//	go run ./cmd/lab again NAME
//	go run ./cmd/lab answers FILE --judge MODEL --budget 5usd
//	go run ./cmd/lab bench --against OLD
//	go run ./cmd/lab eval locomo DIR
//	go run ./cmd/lab replay TRACE.jsonl
//	go run ./cmd/lab tasks FILE --identity NAME --judge MODEL
//	go run ./cmd/lab vitals
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/cmd/lab/bench"
	"lethe/cmd/lab/eval"
	"lethe/cmd/lab/replay"
	"lethe/cmd/lab/vitals"
)

func main() {
	bench.Main() // bench runs this program as what it compares with
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if err := p.command().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(p.err, "lab: %v\n", err)
		return 1
	}
	return 0
}

type program struct {
	in       io.Reader
	out, err io.Writer
	json     bool
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Measure Lethe",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON")
	root.AddCommand(p.againCommand(), p.answersCommand(), p.benchCommand(), p.evalCommand(), p.replayCommand(),
		p.tasksCommand(), p.vitalsCommand())
	return root
}

// print writes a report as a table, or as JSON.
func (p *program) print(report fmt.Stringer) error {
	if p.json {
		enc := json.NewEncoder(p.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	_, err := fmt.Fprint(p.out, report)
	return err
}

func (p *program) say(line string) { fmt.Fprintln(p.err, line) }

func (p *program) againCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "again NAME",
		Short: "Count what an identity looked up or read once more after it had forgotten it",
		Long: `Again reads the log of an identity and counts, for each epoch, its calls of UNCOMPACT and RECALL and those that
repeat a call of an earlier epoch to the letter; the tokens of their results, and their dollars: their part of the
bills of the replies that made them, and the results as new input. It changes nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, list []string) error {
			path, err := host.Dir(dir)
			if err != nil {
				return err
			}
			of := home.Home{Dir: path}
			id, err := of.Find(list[0])
			if err != nil {
				return err
			}
			store, err := blobs.Open(of.Blobs())
			if err != nil {
				return err
			}
			report, err := eval.ReadAgain(store, id.Dir)
			if err != nil {
				return err
			}
			return p.print(report)
		},
	}
	cmd.Flags().StringVar(&dir, "home", "", "`DIR` of the home (default $LETHE_HOME, or ~/.lethe)")
	return cmd
}

func (p *program) benchCommand() *cobra.Command {
	o := bench.Options{Say: p.say}
	var home, plot string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what Lethe costs on this machine, in two minutes",
		Long: `Bench runs identities in temporary homes, which it makes in --home and removes,
against a model of its own on loopback, and prints a table: each figure, its floor in the same run, and the
bound that Lethe sets itself. The floor is a bare client (six) that does nothing but the requests and the syncs.
Your identities, your keys and the network are not touched. docs/performance.md says how to read it.`,
		Example: `  go run ./cmd/lab bench --plot growth.svg
  go run ./cmd/lab bench --only rounds,lines --against ./lethe-before`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Home, err = host.Dir(home); err != nil {
				return err
			}
			if err := checkBench(o, plot); err != nil {
				return err
			}
			if o.Program == "" {
				dir, err := os.MkdirTemp("", "lethe-lab-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				if o.Program, err = build(cmd.Context(), ".", dir); err != nil {
					return err
				}
			}
			report, err := bench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := p.print(report); err != nil || plot == "" {
				return err
			}
			return os.WriteFile(plot, []byte(report.Plot()), 0o644)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&home, "home", "", "`DIR` on the disk that counts (default $LETHE_HOME, or ~/.lethe)")
	flags.StringVar(&o.Program, "program", "", "`LETHE` to measure (default: built from this tree)")
	flags.StringVar(&o.Against, "against", "", "an older `PROGRAM` to measure beside this one")
	flags.StringSliceVar(&o.Only, "only", nil, "`GROUPS` of rows: "+strings.Join(bench.Groups(), ", "))
	flags.StringVar(&plot, "plot", "", "`FILE` for a picture of how a round and a start grow, as SVG")
	return cmd
}

// checkBench refuses now what would fail after two minutes.
func checkBench(o bench.Options, plot string) error {
	if err := checkOnly(o.Only, bench.Groups()); err != nil {
		return err
	}
	if plot != "" {
		if len(o.Only) > 0 && !slices.Contains(o.Only, "rounds") && !slices.Contains(o.Only, "start") {
			return fmt.Errorf("--plot shows rounds and start, and --only leaves them out")
		}
		if _, err := os.Stat(filepath.Dir(plot)); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	if o.Against != "" {
		if _, err := exec.LookPath(o.Against); err != nil {
			return fmt.Errorf("--against: %w", err)
		}
	}
	return nil
}

func checkOnly(names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--only is %q; it is one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// build compiles the lethe of a tree into dir.
func build(ctx context.Context, tree, dir string) (string, error) {
	exe := filepath.Join(dir, "lethe")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", exe, "lethe/cmd/lethe")
	cmd.Dir = tree
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build lethe: %w\n%s", err, out)
	}
	return exe, nil
}

func (p *program) evalCommand() *cobra.Command {
	size, large := eval.Small, false
	cmd := &cobra.Command{
		Use:   "eval locomo DIR",
		Short: "Play conversations of LoCoMo, let them fade, and put their questions to recall",
		Long: `Each conversation in DIR (*.json of the LoCoMo data set) is played into a life of
its own with a small context limit, in a temporary home, and fades for real,
without a model or a network. Then the text of each question is the query. It is
a hit when one of the originals found holds a line that the data set names as
evidence; "hint" is the share of questions for which the automatic hint alone
brings such an original, and "shown" that what is shown of the first ones found has
such a line. Of several conversations, all are also played into one
life, and measured there. A speaker called assistant, agent, bot or ai is heard as
an agent, any other one as a person.`,
		Args: cobra.MatchAll(
			cobra.ExactArgs(2),
			func(_ *cobra.Command, list []string) error { return onlyLoCoMo(list[0]) },
		),
		ValidArgs: []string{"locomo"},
		RunE: func(cmd *cobra.Command, list []string) error {
			if large {
				size = eval.Large
			}
			talks, err := eval.Load(list[1])
			if err != nil {
				return fmt.Errorf("%w (DIR holds the conversations of LoCoMo, one *.json each)", err)
			}
			report, err := eval.Run(cmd.Context(), talks, size, p.say)
			if err != nil {
				return err
			}
			return p.print(report)
		},
	}
	cmd.Flags().BoolVar(&large, "large", false, "originals of 3800 tokens, as the default limit makes them, not of 700")
	return cmd
}

func onlyLoCoMo(name string) error {
	if name != "locomo" {
		return fmt.Errorf("there is no data set %q, only locomo", name)
	}
	return nil
}

func (p *program) replayCommand() *cobra.Command {
	o := replay.Default()
	cmd := &cobra.Command{
		Use:   "replay TRACE.jsonl",
		Short: "Replay a recorded history offline and estimate its cost",
		Long: `Replay runs a recorded history through the real compactor against the offline
model, without waiting, and reports what it would have cost at DeepSeek's
off-peak prices, how much of it the cache would have served, and how far away
each byte is in the end. Nothing is sent anywhere.

A trace has one JSON object a line: {"kind":"user|asst|tool","text":"…"}. Each
asst line is a model request, answered by its text; the tool lines after it are
results of its calls. - reads it from standard input.`,
		Example: `  go run ./cmd/lab replay trace.jsonl --limit 50000 --target 0
  go run ./cmd/lab replay trace.jsonl --compactor mechanical --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, list []string) error {
			in := p.in
			if list[0] != "-" {
				file, err := os.Open(list[0])
				if err != nil {
					return fmt.Errorf("read trace: %w", err)
				}
				defer file.Close()
				in = file
			}
			report, err := replay.Run(cmd.Context(), replay.Read(in), o)
			if err != nil {
				return err
			}
			return p.print(report)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Limit, "limit", o.Limit, "`TOKENS` of a whole request with its answer")
	flags.IntVar(&o.MaxTokens, "max-tokens", 0, "`TOKENS` kept free for an answer (default as lethe run)")
	flags.StringVar(&o.Model, "model", o.Model, "`MODEL` whose prices count: deepseek-v4-pro or deepseek-flash")
	flags.StringVar(&o.Compactor, "compactor", o.Compactor, "`HOW` summaries are made: model, or mechanical")
	flags.Float64Var(&o.Target, "target", o.Target, "`SHARE` of its size that the eligible part is brought to")
	flags.IntVar(&o.Delay, "delay", o.Delay, "`N` model requests until the answers of a compaction arrive")
	return cmd
}

func (p *program) vitalsCommand() *cobra.Command {
	o := vitals.Options{Say: p.say}
	var home string
	cmd := &cobra.Command{
		Use:   "vitals",
		Short: "Measure what must not get worse unseen, in five minutes",
		Long: `Vitals measures the size of the code, the cost of a day on each shape of log, recall, the evidence before a
reader, a sample of kills and power losses, and a round beside the bare client's,
and prints them as Markdown tables that a note can hold. Let nothing else run meanwhile.
It needs the tree of Lethe and Go; your identities and your keys are not touched.`,
		Example: `  go run ./cmd/lab vitals --data DIR_OF_LOCOMO > vitals.md
  go run ./cmd/lab vitals --only cost,size`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := checkOnly(o.Only, vitals.Sections()); err != nil {
				return err
			}
			if o.Home, err = host.Dir(home); err != nil {
				return err
			}
			if len(o.Only) == 0 || slices.Contains(o.Only, "bench") {
				dir, err := os.MkdirTemp("", "lethe-lab-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				if o.Program, err = build(cmd.Context(), o.Tree, dir); err != nil {
					return err
				}
			}
			report, err := vitals.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return p.print(report)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Tree, "tree", ".", "`DIR` of the tree of Lethe")
	flags.StringVar(&home, "home", "", "`DIR` on the disk that counts (default $LETHE_HOME, or ~/.lethe)")
	flags.StringVar(&o.Data, "data", "", "`DIR` with conversations of LoCoMo, for recall and evidence")
	flags.StringSliceVar(&o.Only, "only", nil, "`SECTIONS`: "+strings.Join(vitals.Sections(), ", "))
	return cmd
}
