package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/host"
	"lethe/bridge/acp"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/guest"
)

func newACPCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acp [NAME]",
		Short: "Connect an editor, by the Agent Client Protocol on standard input and output",
		Long: `Acp is what an editor starts to talk with an identity: Zed, JetBrains, Emacs, Neovim and
others that speak the Agent Client Protocol. A session of the editor is a room.

If the identity runs already, acp attaches to it. Otherwise the identity is resumed, or
booted if there is none, when the first session is opened, and works in the editor's folder, unless
--workspace or tools.workspace names another one. docs/chat.md has the settings of editors.`,
		Example: `  lethe acp
  lethe acp ada --room dev`,
		Args: cli.MaximumArgs(1),
		RunE: app.MakingHome(func(ctx context.Context, args []string) error {
			return runACP(ctx, app, args)
		}),
	}
	app.Runs.AddTo(cmd.Flags())
	return cmd
}

// runACP talks with an editor about the identity that is meant, which runs meanwhile.
func runACP(ctx context.Context, app *cli.App, args []string) error {
	app.Runs.Name = cmp.Or(cli.Argument(args, 0), app.Runs.Name)
	id, err := app.Meant()
	if err != nil {
		return err
	}
	note := "an editor starts this, and talks with it in JSON; docs/chat.md has the settings. To talk here: " +
		app.Lethe("")
	return guest.Serve(app, note, func(guest *guest.Guest) error {
		open := func(ctx context.Context, folder string) (*host.Identity, bool, error) {
			options := app.HostOptions(guest.Log)
			own := guest.MayWorkIn(folder)
			if own {
				options.Workspace = folder
			}
			identity, err := guest.Talk(ctx, "", options)
			if err != nil {
				return identity, false, err
			}
			return identity, own && identity.Inside(), nil
		}
		return acp.Run(ctx, acp.Config{
			Self: id, Workspace: app.Settings.Tools.Workspace, Home: app.Home, Store: app.Look.Store,
			User: app.Settings.UserName(), People: app.Settings.Deciders(), Log: guest.Log, In: app.In, Out: app.Out,
			Models: app.OfferedModels(), Open: open,
		})
	})
}
