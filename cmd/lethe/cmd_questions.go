package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newQuestionsCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "questions [NAME]",
		Short: "List what identities have asked people and nobody has answered yet",
		Args:  cli.MaximumArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runQuestions(ctx, app, args)
		}),
	}
}

func runQuestions(ctx context.Context, app *cli.App, args []string) error {
	open, err := openQuestions(ctx, app, cli.Argument(args, 0))
	if err != nil {
		return err
	}
	return app.Show(open, func(out io.Writer) { writeQuestions(out, app, open) })
}

// openQuestions returns the open questions of one identity, or for "" of all, oldest first.
func openQuestions(ctx context.Context, app *cli.App, who string) ([]report.Question, error) {
	if who != "" {
		id, err := app.FindToRead(ctx, who)
		if err != nil {
			return nil, err
		}
		return app.Look.Questions(id)
	}
	all, err := app.Home.List()
	if err != nil {
		return nil, err
	}
	copies, afar := app.ReadAfar(ctx)
	open, err := report.Home{Home: copies.Home, Store: copies.Store}.Questions(afar...)
	all = slices.DeleteFunc(all, func(id home.Identity) bool { // what this host had of it
		return slices.ContainsFunc(afar, func(copied home.Identity) bool { return copied.Self == id.Self })
	})
	here, unread := app.Look.Questions(all...)
	if err := errors.Join(err, unread); err != nil {
		app.Warn("%s", err)
	}
	open = append(open, here...)
	sort.SliceStable(open, func(i, j int) bool { return open[i].Asked.Before(open[j].Asked) })
	return open, nil
}

func writeQuestions(out io.Writer, app *cli.App, open []report.Question) {
	if len(open) == 0 {
		fmt.Fprintln(out, "no open questions")
	}
	for _, question := range open {
		until, answerers, answer := "", "", "TEXT"
		if !question.Until.IsZero() {
			until = ", until " + console.Clock(question.Until)
		}
		if len(question.For) > 0 {
			answerers = ", for " + console.OneLine(strings.Join(question.For, ", "))
		}
		if len(question.Options) > 0 {
			answer = "1"
		}
		fmt.Fprintf(out, "%s  %s in room %s, since %s%s%s\n",
			question.ID, question.Identity, question.Room, console.Clock(question.Asked), until, answerers)
		fmt.Fprintln(out, console.Indented("    ", question.Text))
		for i, option := range question.Options {
			fmt.Fprintf(out, "    %d) %s\n", i+1, console.OneLine(option))
		}
		fmt.Fprintf(out, "    answer with: %s\n", app.Lethe("answer %s %s", question.ID, answer))
	}
}
