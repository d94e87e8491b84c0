package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// answerOptions are the flags of lethe answer.
type answerOptions struct {
	as string
}

func newAnswerCommand(app *app) *cobra.Command {
	var options answerOptions
	cmd := &cobra.Command{
		Use:     "answer ID TEXT...",
		Short:   "Answer a question: append your line to its room",
		Example: `  lethe answer q3fa9c1 yes`,
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return runAnswer(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "sign with this `NAME` (default: yours)")
	return cmd
}

func runAnswer(ctx context.Context, app *app, options answerOptions, args []string) error {
	open, err := openQuestions(app, "")
	if err != nil {
		return err
	}
	as := cmp.Or(options.as, app.settings.UserName())
	room, line, err := app.look.Answer(open, args[0], as, strings.Join(args[1:], " "))
	if err != nil {
		return err
	}
	return app.say(ctx, room, as, line)
}
