package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/share/hosts"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

func newHostsCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts that share the home, and which identities each has",
		Example: `  lethe hosts`,
		RunE: app.WithHome(func(ctx context.Context, _ []string) error {
			return runHosts(ctx, app)
		}),
	}
	cmd.AddCommand(newHostsDrainCommand(app))
	return cmd
}

func runHosts(ctx context.Context, app *cli.App) error {
	shared, err := app.Others()
	if err != nil {
		return err
	}
	all, err := shared.Hosts(ctx)
	if err != nil {
		return err
	}
	return app.Show(all, func(out io.Writer) {
		rows := console.NewTable("HOST", "SAID THAT IT IS THERE", "IDENTITIES")
		for _, host := range all {
			var lives []string
			for _, life := range host.Lives {
				lives = append(lives, life.Name)
			}
			rows.Row(hostName(host), console.Ago(host.At), strings.Join(lives, ", "))
		}
		rows.Write(out)
	})
}

func hostName(host hosts.Seen) string {
	name := cmp.Or(host.Label, "-")
	if host.Alike {
		name += " " + host.ID
	}
	if host.Here {
		name += " (this one)"
	}
	if host.Left {
		name += " (drained)"
	}
	return name
}
