package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/host"
	"lethe/bridge/acp"
)

func newACPCommand(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acp [NAME]",
		Short: "Connect an editor, by the Agent Client Protocol on standard input and output",
		Long: `Acp is what an editor starts to talk with an identity: Zed, JetBrains, Emacs, Neovim and
others that speak the Agent Client Protocol. A session of the editor is a room.

If the identity runs already, acp attaches to it. Otherwise the identity is resumed, or
booted if there is none, when the first session is opened, and works in the editor's folder, unless
--workspace or tools.workspace names another one. docs/acp.md has the settings of editors.`,
		Example: `  lethe acp
  lethe acp ada --room dev`,
		RunE: app.makingHome(func(ctx context.Context, args []string) error {
			return runACP(ctx, app, args)
		}),
	}
	app.runs.addTo(cmd.Flags())
	return cmd
}

// runACP talks with an editor about the identity that is meant, which runs meanwhile.
func runACP(ctx context.Context, app *app, args []string) error {
	app.runs.name = cmp.Or(argument(args, 0), app.runs.name)
	id, err := app.meant()
	if err != nil {
		return err
	}
	note := "an editor starts this, and talks with it in JSON; docs/acp.md has the settings. To talk here: " +
		app.lethe("")
	return serveGuest(app, note, func(guest *guest) error {
		open := func(ctx context.Context, folder string) (*host.Identity, bool, error) {
			options := app.hostOptions(guest.log)
			own := mayWorkIn(app, folder)
			if own {
				options.Workspace = folder
			}
			identity, err := guest.talk(ctx, "", options)
			if err != nil {
				return identity, false, err
			}
			return identity, own && identity.Inside(), nil
		}
		return acp.Run(ctx, acp.Config{
			Self: id, Workspace: app.settings.Tools.Workspace, Home: app.home, Store: app.look.Store,
			User: app.settings.UserName(), People: app.settings.Deciders(), Log: guest.log, In: app.in, Out: app.out,
			Open: open,
		})
	})
}

// mayWorkIn reports whether tools may work in the folder of the editor: the folder of all of a person's files is no
// project, and the tools must not reach the home.
func mayWorkIn(app *app, folder string) bool {
	if app.runs.Workspace != "" || app.settings.Tools.Workspace != "" {
		return false
	}
	toHome, err := filepath.Rel(folder, app.home.Dir)
	if err != nil {
		return false
	}
	holdsHome := !strings.HasPrefix(toHome, "..")
	persons, _ := os.UserHomeDir()
	return !holdsHome && filepath.Clean(folder) != persons
}
