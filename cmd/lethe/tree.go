package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
)

func newTreeCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show the epochs, labels, branches and forks of a life",
		RunE: app.withIdentity(func(_ context.Context, id home.Identity, _ []string) error {
			return runTree(app, id)
		}),
	}
}

// runTree draws a life as a table: a branch says what it goes on behind.
func runTree(app *app, id home.Identity) error {
	stretches, err := app.look.Tree(id)
	if err != nil {
		return err
	}
	return app.show(stretches, func(out io.Writer) {
		rows := newTable("EPOCH", "WHY", "BEGAN", "BEHIND", "ENTRIES", "MARKS", "ABOUT")
		for _, stretch := range stretches {
			behind, entries := "", ""
			if stretch.Back != 0 {
				behind = fmt.Sprintf("e%d", stretch.Back)
			}
			if stretch.From != 0 {
				entries = fmt.Sprintf("e%d..e%d", stretch.From, stretch.To)
			}
			rows.row(stretch.Epoch, stretch.Why, stretch.At, behind, entries, strings.Join(stretch.Marks, ", "), stretch.Words)
		}
		rows.write(out)
	})
}
