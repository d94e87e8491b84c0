package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/cmd/lethe/talk"
)

// askOptions are the flags of lethe ask.
type askOptions struct {
	once    bool
	timeout time.Duration
}

func newAskCommand(app *cli.App) *cobra.Command {
	var options askOptions
	cmd := &cobra.Command{
		Use:   "ask [NAME] [TEXT...|-]",
		Short: "Ask an identity once and print the answer",
		Long: `Ask says something to the default identity, or to the one that is named, waits until
its turn has ended, and prints what it said. If the identity is not running, it is resumed
for that long; where there is none yet, or with --new, one is booted.

The text is the arguments; - is standard input. What comes through a pipe follows the
text: < /dev/null leaves it out. An argument @FILE attaches a file, such as a picture.

With --once a new identity in a home of its own answers, and nothing of it stays.

If the identity asks something back, that is the answer; lethe answer, or the next ask, answers
it. With --json one object says who answered in which room and turn, what it cost, and the
hash of the answer.`,
		Example: `  lethe ask "what did I say about the deploy key?"
  lethe ask ada --json < question.md
  lethe ask ada "what is this?" @photo.png
  git diff | lethe ask --once "what could go wrong here?"`,
		Args: cobra.ArbitraryArgs,
		RunE: app.MakingHome(func(ctx context.Context, args []string) error {
			return runAsk(ctx, app, options, args)
		}),
	}
	app.Runs.AddTo(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&options.once, "once", false, "ask a new identity in a home that is removed afterwards")
	flags.DurationVar(&options.timeout, "timeout", 0,
		"wait for answers at most for this `DURATION`, such as 90s (default: no bound)")
	return cmd
}

// runAsk asks the identity that the first of several words names, or the one of the flags, or the default one.
func runAsk(ctx context.Context, app *cli.App, options askOptions, args []string) error {
	if options.once {
		return askStranger(ctx, app, options, args)
	}
	if len(args) > 1 && app.Runs.Name == "" {
		if id, err := app.Home.Find(args[0]); err == nil {
			app.Runs.Name, args = id.Name, args[1:]
		} else if app.Named(ctx, args[0]) { // at another host
			app.Runs.Name, args = args[0], args[1:]
		}
	}
	text, err := talk.ReadQuestion(app, args)
	if err != nil {
		return err
	}
	return talk.Ask(ctx, app, text, options.timeout)
}

// askStranger asks a new identity in a home that is removed afterwards.
func askStranger(ctx context.Context, app *cli.App, options askOptions, args []string) (err error) {
	if app.Runs.Name != "" {
		return exit.Usagef("--once asks a new identity; leave out --name")
	}
	dir, err := os.MkdirTemp("", "lethe-once-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if app.Home, err = home.Open(dir); err != nil {
		return err
	}
	app.Settings.DefaultIdentity, app.Settings.Reviewer = "", config.Reviewer{}
	text, err := talk.ReadQuestion(app, args)
	if err != nil {
		return err
	}
	return talk.Ask(ctx, app, text, options.timeout)
}
