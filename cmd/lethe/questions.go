package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/bridge/report"
)

func newQuestionsCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "questions [NAME]",
		Short: "List what identities have asked people and nobody has answered yet",
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runQuestions(app, args)
		}),
	}
}

func runQuestions(app *app, args []string) error {
	open, err := openQuestions(app, argument(args, 0))
	if err != nil {
		return err
	}
	return app.show(open, func(out io.Writer) { writeQuestions(out, app, open) })
}

// openQuestions returns the open questions of one identity, or for "" of all, oldest first.
func openQuestions(app *app, who string) ([]report.Question, error) {
	if who != "" {
		id, err := app.find(who)
		if err != nil {
			return nil, err
		}
		return app.look.Questions(id)
	}
	all, err := app.home.List()
	if err != nil {
		return nil, err
	}
	open, err := app.look.Questions(all...)
	if err != nil {
		app.warn("%s", err)
	}
	return open, nil
}

func writeQuestions(out io.Writer, app *app, open []report.Question) {
	if len(open) == 0 {
		fmt.Fprintln(out, "no open questions")
	}
	for _, question := range open {
		until, answerers, answer := "", "", "TEXT"
		if !question.Until.IsZero() {
			until = ", until " + clock(question.Until)
		}
		if len(question.For) > 0 {
			answerers = ", for " + oneLine(strings.Join(question.For, ", "))
		}
		if len(question.Options) > 0 {
			answer = "1"
		}
		fmt.Fprintf(out, "%s  %s in room %s, since %s%s%s\n",
			question.ID, question.Identity, question.Room, clock(question.Asked), until, answerers)
		fmt.Fprintln(out, indented("    ", question.Text))
		for i, option := range question.Options {
			fmt.Fprintf(out, "    %d) %s\n", i+1, oneLine(option))
		}
		fmt.Fprintf(out, "    answer with: %s\n", app.lethe("answer %s %s", question.ID, answer))
	}
}
