package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/servers"
)

func newMCPListCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls"},
		Short:      "List the servers whose tools identities may use, without starting them",
		RunE: app.WithHome(func(context.Context, []string) error {
			return runMCPList(app)
		}),
	}
}

func runMCPList(app *cli.App) error {
	known := servers.Open(app)
	defer known.Close()
	all := known.List()
	return app.Show(all, func(out io.Writer) {
		if len(all) == 0 {
			fmt.Fprintf(out, "no servers of tools yet; docs/others.md tells of them, and %s says how to add one\n",
				app.Lethe("mcp add --help"))
			return
		}
		rows := console.NewTable("SERVER", "WHERE", "TOOLS", "WRONG")
		for _, server := range all {
			count := "not asked yet"
			if server.Tools >= 0 {
				count = strconv.Itoa(server.Tools)
			}
			rows.Row(server.Name, server.At, count, server.Wrong)
		}
		rows.Write(out)
	})
}
