package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/tools/mcp"
)

func newMCPImportCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import [FILE]",
		Short: "Take over the servers of Claude Code, Claude Desktop, Cursor and VS Code",
		Long: `Import reads FILE, or the files where these keep their servers, of you and of the present directory.
What is there by that name stays. It says which servers are left out, and why.`,
		RunE: app.makingHome(func(_ context.Context, args []string) error {
			return runMCPImport(app, args)
		}),
	}
}

func runMCPImport(app *app, args []string) error {
	if len(args) > 0 {
		added, err := importServers(app, args[0])
		if err != nil {
			return err
		}
		return showAdded(app, added)
	}
	user, _ := os.UserHomeDir() // without one there is nothing of theirs
	added := []string{}
	for _, path := range mcp.Files(user, ".") {
		names, err := importServers(app, path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		added = append(added, names...)
	}
	return showAdded(app, added)
}

// importServers adds the servers of a file, and tells which it leaves out. The error is the file's.
func importServers(app *app, path string) (added []string, err error) {
	text, err := config.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, refused, err := mcp.Parse(text)
	if err != nil {
		refused = append(refused, err)
	}
	added = []string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := config.AddServer(app.home.Dir, name, all[name]); err != nil {
			refused = append(refused, err)
			continue
		}
		added = append(added, name)
	}
	for _, err := range refused {
		app.note("%s: left out: %v", path, err)
	}
	return added, nil
}
