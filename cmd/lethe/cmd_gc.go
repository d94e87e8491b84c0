package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/check"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

// gcOptions are the flags of lethe gc.
type gcOptions struct {
	yes bool
}

func newGCCommand(app *cli.App) *cobra.Command {
	var options gcOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Find stored texts that no identity refers to, and move them away",
		Long: `Gc counts the stored texts that no identity, room or bridge refers to. With --yes it moves
them to lost+found in the home, where they stay for 30 days; what has been there for longer it removes
for good. Nothing in the home may run.`,
		RunE: app.WithHome(func(context.Context, []string) error {
			return runGC(app, options)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.yes, "yes", false, "move them")
	return cmd
}

func runGC(app *cli.App, options gcOptions) error {
	store, err := app.Store()
	if err != nil {
		return err
	}
	garbage, err := check.Collect(app.Home, store, options.yes)
	if err != nil {
		return err
	}
	nothing := garbage.Blobs+len(garbage.Removed) == 0
	canMove := !options.yes && !nothing
	if canMove && !app.JSON {
		defer app.Note("nothing was changed; %s moves them to lost+found for 30 days", app.Lethe("gc --yes"))
	}
	return app.Show(garbage, func(out io.Writer) {
		if garbage.Blobs != 0 {
			fmt.Fprintf(out, "%d blobs, %s\n", garbage.Blobs, console.Megabytes(garbage.Bytes))
		}
		removed := "to be removed"
		if options.yes {
			removed = "removed"
		}
		for _, dir := range garbage.Removed {
			fmt.Fprintf(out, "%s, after 30 days: %s\n", removed, strings.TrimPrefix(dir, app.Home.Dir+"/"))
		}
		if nothing {
			fmt.Fprintln(out, "nothing to move")
		}
	})
}
