package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
)

func newBudgetCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "budget [NAME]",
		Short: "Print what identities have spent, and what is left of their limits",
		Args:  cli.MaximumArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runBudget(ctx, app, args)
		}),
	}
}

func runBudget(ctx context.Context, app *cli.App, args []string) error {
	copies, _ := app.ReadAfar(ctx)
	all, err := app.Look.Budgets(copies)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		id, err := app.Find(args[0])
		if elsewhere, is := errors.AsType[*home.ElsewhereError](err); is {
			id, err = elsewhere.Identity, nil
		}
		if err != nil {
			return err
		}
		spent := all.Of(id.Self)
		return app.Show(spent, func(out io.Writer) { writeBudget(out, spent, all.Day) })
	}
	return app.Show(all, func(out io.Writer) {
		for _, spent := range all.Identities {
			writeBudget(out, spent, all.Day)
		}
		fmt.Fprintln(out, all.Home.Left())
	})
}

func writeBudget(out io.Writer, spent report.Budget, day string) {
	fmt.Fprintf(out, "%s on %s\n", spent.Name, day)
	for _, line := range spent.Lines {
		fmt.Fprintf(out, "  %s\n", line.Left())
	}
	if part := spent.Children; part.Life != 0 {
		fmt.Fprintf(out, "  of that its children: today %s, this month %s, in all %s\n", part.Day, part.Month, part.Life)
	}
	for _, line := range spent.Applies {
		if line.Who != spent.Name {
			fmt.Fprintf(out, "  also applies: %s\n", line)
		}
	}
}
