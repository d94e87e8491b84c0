package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/mind"
)

// branchOptions are the flags of lethe branch.
type branchOptions struct {
	to string
}

func newBranchCommand(app *cli.App) *cobra.Command {
	var options branchOptions
	cmd := &cobra.Command{
		Use:   "branch NAME [LABEL]",
		Short: "Give the present moment of a life a label, or have it go back to another moment",
		Long: `Branch gives the present moment of a life a label. With --to the identity goes back: its context
is again what it was at that moment, and a note tells it what it did since. Nothing is lost:
another branch goes forward again.

lethe fork --help says what a MOMENT is.`,
		Example: `  lethe branch ada before-refactoring
  lethe branch ada second-try --to before-refactoring`,
		Args: cli.RangeArgs(1, 2),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runBranch(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.to, "to", "", "go back to this `MOMENT`")
	return cmd
}

// runBranch gives a moment a label, or takes a life back.
func runBranch(ctx context.Context, app *cli.App, options branchOptions, args []string) error {
	label := cli.Argument(args, 1)
	switch {
	case label == "" && options.to == "":
		return exit.Usagef("nothing to do: give a label, or with --to a moment to go back to")
	case label != "" && !report.ValidLabel(label):
		return exit.Usagef("%q is not a label: a lower-case letter, then up to 31 of a-z, 0-9, - and _, "+
			"and no other way to say a moment", label)
	}
	id, then, err := app.IdentityAt(ctx, app.FindToChange, args[0], options.to)
	if err != nil {
		return err
	}
	if label != "" {
		if err := leaveWish(ctx, app, id, home.WishLabel+home.Wish(label)); err != nil {
			return err
		}
	}
	if options.to != "" {
		back := home.WishBack + home.Wish(strconv.FormatInt(then.End, 10))
		if err := leaveWish(ctx, app, id, back); err != nil {
			return err
		}
	}
	entry := mind.EntryID(then.Next - 1)
	return app.Show(console.Object{"label": label, "at": entry}, func(out io.Writer) {
		if label != "" {
			fmt.Fprintf(out, "%s: labelled %s\n", id.Name, label)
		}
		if options.to != "" {
			fmt.Fprintf(out, "%s: at %s of %s\n", id.Name, entry, console.Clock(then.At))
		}
	})
}

// leaveWish leaves a wish for a label, or for another moment, and waits until it is obeyed.
func leaveWish(ctx context.Context, app *cli.App, id home.Identity, wish home.Wish) error {
	err := app.Look.Branch(ctx, id, wish, func() {
		app.Note("%s is in the middle of a turn; it is done after that", id.Name)
	})
	if errors.Is(err, context.Canceled) {
		app.Note("the request is left with %s; it is done when no turn is under way", id.Name)
	}
	return err
}
