package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/bridge"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// stateDirs are the entries of the home that clean removes.
var stateDirs = []string{
	"agents", "names", "chats", "blobs", "bridges", "mcp", "started", "index", "lost+found", "lethe.log", "format", "key",
	"share", ".gitignore", "ledger", "keys.env",
}

// cleanOptions are the flags of lethe clean.
type cleanOptions struct {
	yes bool
}

func newCleanCommand(app *cli.App) *cobra.Command {
	var options cleanOptions
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove all identities, rooms and stored texts, after asking",
		Long: `Clean removes all identities with their logs, the rooms, the stored texts, the state of
bridges, what was spent and keys.env. config.toml and all files that are not Lethe's stay. This cannot be
undone, so clean asks first.`,
		RunE: app.WithHome(func(context.Context, []string) error {
			return runClean(app, options)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.yes, "yes", false, "do not ask")
	return cmd
}

// runClean removes stateDirs, after asking.
func runClean(app *cli.App, options cleanOptions) error {
	all, err := app.Home.List()
	if err != nil {
		return err
	}
	if err := nothingRuns(app, all); err != nil {
		return err
	}
	if !holdsState(app.Home) && !app.JSON {
		fmt.Fprintf(app.Out, "nothing to remove in %s\n", app.Home.Dir)
		return nil
	}
	names := []string{}
	for _, id := range all {
		names = append(names, id.Name)
	}
	loss := fmt.Sprintf("%s holds the identities %s, and rooms, stored texts, the state of bridges and keys.\n", app.Home.Dir,
		cmp.Or(console.OneLine(strings.Join(names, ", ")), "-"))
	if app.Shared != nil {
		loss += "The store of [share] keeps what it has: lethe take brings an identity back from it.\n"
	}
	if err := app.Confirm(options.yes, loss, "Remove all of it"); err != nil {
		return err
	}
	if err := nothingRuns(app, all); err != nil { // one may have been started during the question
		return err
	}
	for _, name := range stateDirs {
		if err := os.RemoveAll(filepath.Join(app.Home.Dir, name)); err != nil {
			return fmt.Errorf("clean %s: %w", app.Home.Dir, err)
		}
	}
	return app.Print(console.Object{"home": app.Home.Dir, "removed": names}, "removed.\n")
}

func holdsState(home home.Home) bool {
	return slices.ContainsFunc(stateDirs, func(name string) bool {
		path := filepath.Join(home.Dir, name)
		info, err := os.Lstat(path)
		list, _ := os.ReadDir(path)
		isMade := name == "format" || name == ".gitignore" // by every command
		isFile := err == nil && !info.IsDir()
		isState := isFile && !isMade
		return isState || len(list) > 0
	})
}

// nothingRuns fails when an identity or a bridge runs.
func nothingRuns(app *cli.App, ids []home.Identity) error {
	for _, id := range ids {
		if _, running := home.Running(id); running {
			err := fmt.Errorf("clean %s: %s is running", app.Home.Dir, id.Name)
			return exit.Hint(err, "stop it first: %s", app.Lethe("stop %s", id.Name))
		}
	}
	all, err := bridge.ReadHealth(app.Home.Dir)
	for _, health := range all {
		if health.Runs() {
			err := fmt.Errorf("clean %s: bridge %s is running", app.Home.Dir, health.Name)
			return exit.Hint(err, "stop it first: it is process %d", health.PID)
		}
	}
	return err
}
