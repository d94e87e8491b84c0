package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/internal/screen"
	"lethe/mind"
)

func newDiffCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff NAME MOMENT MOMENT",
		Short: "Show how the context of an identity changed between two moments",
		Long: `Diff compares two contexts, as lethe context prints them, and first says which entries came and
went. OTHER:MOMENT is another identity's.

lethe fork --help says what a MOMENT is.`,
		Example: `  lethe diff ada e39 now
  lethe diff ada e39 bea:now`,
		Args: cli.ExactArgs(3),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runDiff(ctx, app, args)
		}),
	}
}

// runDiff compares an identity with itself at another moment, or with another identity.
func runDiff(ctx context.Context, app *cli.App, args []string) error {
	before, after := args[1], args[2]
	then, err := comparedState(ctx, app, args[0], before)
	if err != nil {
		return err
	}
	now, err := comparedState(ctx, app, args[0], after)
	if err != nil {
		return err
	}
	text := screen.Sanitize(string(diff.Diff(before, contextOf(then), after, contextOf(now))))
	came, went := liveOnly(now, then), liveOnly(then, now)
	compared := console.Object{"a": before, "b": after, "came": came, "went": went, "diff": text}
	return app.Show(compared, func(out io.Writer) {
		fmt.Fprintf(out, "from %s to %s: %d entries came%s; %d went%s\n",
			before, after, len(came), listed(came), len(went), listed(went))
		if text != "" {
			fmt.Fprintln(out, console.Indented("", text))
		}
	})
}

// comparedState is an identity at a moment; OTHER:MOMENT is another identity's.
func comparedState(ctx context.Context, app *cli.App, who, moment string) (*mind.State, error) {
	if other, rest, ok := strings.Cut(moment, ":"); ok && home.ValidName(other) {
		who, moment = other, rest
	}
	_, then, err := app.IdentityAt(ctx, app.FindToRead, who, moment)
	return then.State, err
}

// contextOf is the view of a context, without its first line.
func contextOf(state *mind.State) []byte {
	_, view, _ := bytes.Cut(state.View(), []byte("\n"))
	return view
}

// liveOnly are the entries that are live in a state and not in another one.
func liveOnly(state, other *mind.State) []string {
	ids := []string{}
	for _, entry := range state.Live {
		if !slices.ContainsFunc(other.Live, func(also *mind.Entry) bool { return also.N == entry.N }) {
			ids = append(ids, mind.EntryID(entry.N))
		}
	}
	return ids
}

// listed names entries behind their number.
func listed(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ": " + home.Shorten(ids)
}
