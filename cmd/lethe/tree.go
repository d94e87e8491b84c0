package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newTreeCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show the epochs, labels, branches and forks of a life",
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runTree(app, args)
		}),
	}
}

// runTree draws a life as a table: a branch says what it goes on behind.
func runTree(app *app, args []string) error {
	id, err := app.find(argument(args, 0))
	if err != nil {
		return err
	}
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
