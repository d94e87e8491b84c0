package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/check"
)

// collectOptions are the flags of lethe gc.
type collectOptions struct {
	yes bool
}

func newCollectCommand(app *app) *cobra.Command {
	var options collectOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Find stored texts that no identity refers to, and move them away",
		Long: `Gc counts the stored texts that no identity, room or bridge refers to. With --yes it moves
them to lost+found in the home, where they stay for 30 days; what has been there for longer it removes
for good. Nothing in the home may run.`,
		RunE: app.withHome(func(context.Context, []string) error {
			return runCollect(app, options)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.yes, "yes", false, "move them")
	return cmd
}

func runCollect(app *app, options collectOptions) error {
	store, err := app.store()
	if err != nil {
		return err
	}
	garbage, err := check.Collect(app.home, store, options.yes)
	if err != nil {
		return err
	}
	nothing := garbage.Blobs+len(garbage.Removed) == 0
	canMove := !options.yes && !nothing
	if canMove && !app.json {
		defer app.note("nothing was changed; %s moves them to lost+found for 30 days", app.lethe("gc --yes"))
	}
	return app.show(garbage, func(out io.Writer) {
		if garbage.Blobs != 0 {
			fmt.Fprintf(out, "%d blobs, %s\n", garbage.Blobs, megabytes(garbage.Bytes))
		}
		removed := "to be removed"
		if options.yes {
			removed = "removed"
		}
		for _, dir := range garbage.Removed {
			fmt.Fprintf(out, "%s, after 30 days: %s\n", removed, strings.TrimPrefix(dir, app.home.Dir+"/"))
		}
		if nothing {
			fmt.Fprintln(out, "nothing to move")
		}
	})
}
