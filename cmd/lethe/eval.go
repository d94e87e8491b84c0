package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/internal/eval"
)

func (p *program) evalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure whether what has faded is found again",
		Args:  noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hint(usagef("nothing to evaluate"), "lethe eval locomo DIR")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "locomo DIR",
		Short: "Play conversations of LoCoMo, let them fade, and put their questions to recall",
		Long: `Each conversation in DIR (*.json of the LoCoMo data set) is played into a life of
its own with a small context limit, in a temporary home, and fades for real,
without a model or a network. Then the text of each question is the query. It is
a hit when one of the originals found holds a line that the data set names as
evidence; "hint" is the share of questions for which the automatic hint alone
brings such an original.

What goes on is told on standard error. The home is not touched.`,
		Example: `  lethe eval locomo ~/locomo
  lethe eval locomo ~/locomo --json`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error { return p.evalLoCoMo(cmd.Context(), list[0]) },
	})
	return cmd
}

func (p *program) evalLoCoMo(ctx context.Context, dir string) error {
	talks, err := eval.Load(dir)
	if err != nil {
		return hint(usageError{err}, "DIR holds the conversations of LoCoMo, one *.json each")
	}
	report, err := eval.Run(ctx, talks, func(line string) { fmt.Fprintln(p.err, line) })
	if err != nil {
		return err
	}
	return p.printReport(report)
}
