package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/rerun"
)

func newRerunCommand(app *cli.App) *cobra.Command {
	var options rerun.Options
	cmd := &cobra.Command{
		Use:   "rerun NAME",
		Short: "Ask past requests again, outside of the life, and compare the answers",
		Long: `Rerun asks the request of the answer that --at names, or of the next one, and the rest of its
turn, with the results of then: it ends at the first answer whose calls differ. With --from it
asks each request up to --to. With --limit the first one begins with the context of then, and
compactions ask no model. It tells the price first. The ledger of a budget has the cost, the
life does not.

lethe fork --help says what a MOMENT is.`,
		Example: `  lethe rerun ada --at e39 --model deepseek:deepseek-flash
  lethe rerun ada --from 2026-11-20 --yes`,
		Args: cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return rerun.Run(ctx, app, options, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.At, "at", "", "the `MOMENT` of the first request")
	flags.StringVar(&options.From, "from", "", "all requests from this `MOMENT` on")
	flags.StringVar(&options.To, "to", "", "with --from: up to this `MOMENT` (default: now)")
	flags.StringVar(&options.Model, "model", "", "ask this `MODEL` (default: the one of then)")
	flags.UintVar(&options.Limit, "limit", 0, "with at most so many `TOKENS` in each request (default: as then)")
	flags.StringVar(&options.Soul, "soul", "", "a `FILE` in place of the soul")
	flags.BoolVar(&options.Yes, "yes", false, "do not ask whether the price is right")
	return cmd
}
