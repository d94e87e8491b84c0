package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/share/hosts"
)

func newHostsCommand(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts that share the home, and which identities each has",
		Example: `  lethe hosts`,
		RunE: app.withHome(func(ctx context.Context, _ []string) error {
			return runHosts(ctx, app)
		}),
	}
	cmd.AddCommand(newHostsDrainCommand(app))
	return cmd
}

func runHosts(ctx context.Context, app *app) error {
	shared, err := app.others()
	if err != nil {
		return err
	}
	all, err := shared.Hosts(ctx)
	if err != nil {
		return err
	}
	return app.show(all, func(out io.Writer) {
		rows := newTable("HOST", "SAID THAT IT IS THERE", "IDENTITIES")
		for _, host := range all {
			var lives []string
			for _, life := range host.Lives {
				lives = append(lives, life.Name)
			}
			rows.row(hostName(host), ago(host.At), strings.Join(lives, ", "))
		}
		rows.write(out)
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

func newHostsDrainCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:     "drain HOST",
		Short:   "Ask a host to stop its identities and leave them to hosts that stand by",
		Long:    `Its daemon ends when they have stopped. docs/machines.md.`,
		Example: `  lethe hosts drain laptop`,
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return runHostsDrain(ctx, app, args)
		}),
	}
}

// runHostsDrain asks a host to leave its lives to others.
func runHostsDrain(ctx context.Context, app *app, args []string) error {
	shared, err := app.others()
	if err != nil {
		return err
	}
	if err := shared.Drain(ctx, args[0]); err != nil {
		return err
	}
	app.note("asked %s; lethe hosts tells where its lives go on", args[0])
	return nil
}
