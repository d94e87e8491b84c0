package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/servers"
)

// newMCPTestCommand makes lethe mcp test. A file cmd_mcp_test.go would be a test.
func newMCPTestCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Start a server, which may take minutes if it has to be fetched first, and list its tools",
		Args:  cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return servers.Try(ctx, app, args[0], nil)
		}),
	}
}
