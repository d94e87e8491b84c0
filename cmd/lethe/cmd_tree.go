package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newTreeCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show the epochs, labels, branches and forks of a life",
		Args:  cli.MaximumArgs(1),
		RunE: app.ReadingIdentity(always, func(_ context.Context, id home.Identity, _ []string) error {
			return runTree(app, id)
		}),
	}
}

func always([]string) bool { return true }

// runTree draws a life as a table. A branch shows the entry that it goes on behind.
func runTree(app *cli.App, id home.Identity) error {
	stretches, err := app.Look.Tree(id)
	if err != nil {
		return err
	}
	return app.Show(stretches, func(out io.Writer) {
		rows := console.NewTable("EPOCH", "WHY", "BEGAN", "BEHIND", "ENTRIES", "MARKS", "ABOUT")
		for _, stretch := range stretches {
			behind, entries := "", ""
			if stretch.Back != 0 {
				behind = fmt.Sprintf("e%d", stretch.Back)
			}
			if stretch.From != 0 {
				entries = fmt.Sprintf("e%d..e%d", stretch.From, stretch.To)
			}
			rows.Row(stretch.Epoch, stretch.Why, stretch.At, behind, entries, strings.Join(stretch.Marks, ", "), stretch.Words)
		}
		rows.Write(out)
	})
}
