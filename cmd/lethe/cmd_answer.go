package main

import (
	"cmp"
	"context"
	"strings"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/talk"

	"github.com/spf13/cobra"
)

// answerOptions are the flags of lethe answer.
type answerOptions struct {
	as string
}

func newAnswerCommand(app *cli.App) *cobra.Command {
	var options answerOptions
	cmd := &cobra.Command{
		Use:     "answer ID TEXT...",
		Short:   "Answer a question: append your line to its room",
		Example: `  lethe answer q3fa9c1 yes`,
		Args:    cli.MinimumArgs(2),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runAnswer(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "sign with this `NAME` (default: yours)")
	return cmd
}

func runAnswer(ctx context.Context, app *cli.App, options answerOptions, args []string) error {
	open, err := openQuestions(ctx, app, "")
	if err != nil {
		return err
	}
	as := cmp.Or(options.as, app.Settings.UserName())
	room, line, err := app.Look.Answer(open, args[0], as, strings.Join(args[1:], " "))
	if err != nil {
		return err
	}
	return talk.Say(ctx, app, room, as, line)
}
