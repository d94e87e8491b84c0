package cli

import (
	"cmp"
	"context"
	"io"
	"strings"

	"lethe/agent/share/hosts"
	"lethe/cmd/lethe/console"
)

// ShowHosts lists the hosts of the home.
func (app *App) ShowHosts(ctx context.Context) error {
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
