package main

import (
	"bufio"
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/servers"
)

func newMCPLoginCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "login NAME",
		Short: "Allow identities to use a server at an address that wants a login",
		Long: `Login prints an address to open in any browser, and reads from standard input the address at which
the browser ends, which need not load, or the code in it. The token is kept in the home; a daemon
that runs uses it at once. --header of mcp add is for servers that take a key.`,
		Args: cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runMCPLogin(ctx, app, args[0])
		}),
	}
}

func runMCPLogin(ctx context.Context, app *cli.App, name string) error {
	return servers.Try(ctx, app, name, func(address string) string {
		app.Note("open this in a browser, then paste the address that it ends at (or its code): %s", address)
		line, _ := bufio.NewReader(app.In).ReadString('\n') // an end of input is no answer
		return line
	})
}
