package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newMCPRemoveCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:        "remove NAME",
		SuggestFor: []string{"rm", "delete"},
		Short:      "Take a server out of config.toml, and its token out of the home",
		Args:       cli.ExactArgs(1),
		RunE: app.WithHome(func(_ context.Context, args []string) error {
			return runMCPRemove(app, args[0])
		}),
	}
}

func runMCPRemove(app *cli.App, name string) error {
	if err := config.RemoveServer(app.Home.Dir, name); err != nil {
		return err
	}
	kept := filepath.Join(app.Home.Dir, "mcp", name)
	for _, ending := range []string{".json", ".token.json"} {
		if err := os.Remove(kept + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return app.Print(console.Object{"removed": name, "kept": kept},
		"removed: %s; what it wrote itself stays in %s\n", name, kept)
}
