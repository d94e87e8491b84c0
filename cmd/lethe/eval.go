package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lethe/internal/eval"
)

func (p *program) evalCommand() *cobra.Command {
	size, large := eval.Small, false
	c := &cobra.Command{
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
an agent, any other one as a person.

What goes on is told on standard error. The home is not touched.`,
		Example: `  lethe eval locomo ~/locomo
  lethe eval locomo ~/locomo --large --json`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if list[0] != "locomo" {
				return usagef("there is no data set %q, only locomo", list[0])
			}
			if large {
				size = eval.Large
			}
			return p.evalLoCoMo(cmd.Context(), list[1], size)
		},
		ValidArgs: []string{"locomo"},
	}
	c.Flags().BoolVar(&large, "large", false, "originals of 3800 tokens, as the default limit makes them, not of 700")
	return c
}

func (p *program) evalLoCoMo(ctx context.Context, dir string, size eval.Size) error {
	talks, err := eval.Load(dir)
	if err != nil {
		return hint(usageError{err}, "DIR holds the conversations of LoCoMo, one *.json each")
	}
	report, err := eval.Run(ctx, talks, size, func(line string) { fmt.Fprintln(p.err, line) })
	if err != nil {
		return err
	}
	return p.print(report, "%s", report)
}
