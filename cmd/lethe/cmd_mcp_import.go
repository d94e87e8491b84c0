package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/servers"
)

func newMCPImportCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "import [FILE]",
		Short: "Take over the servers of Claude Code, Claude Desktop, Cursor and VS Code",
		Long: `Import reads FILE, or the files where these keep their servers, of you and of the present directory.
What is there by that name stays. It says which servers are left out, and why.`,
		Args: cli.MaximumArgs(1),
		RunE: app.MakingHome(func(_ context.Context, args []string) error {
			return runMCPImport(app, args)
		}),
	}
}

func runMCPImport(app *cli.App, args []string) error {
	var added []string
	var err error
	if len(args) > 0 {
		added, err = servers.Import(app, args[0])
	} else {
		added, err = servers.ImportAll(app)
	}
	if err != nil {
		return err
	}
	return servers.ShowAdded(app, added)
}
