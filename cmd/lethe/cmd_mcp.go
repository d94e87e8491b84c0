package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/host"
	"lethe/bridge/mcp"
	"lethe/chat"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/guest"
)

// mcpOptions are the flags of lethe mcp.
type mcpOptions struct {
	as string
}

func newMCPCommand(app *cli.App) *cobra.Command {
	var options mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent of others use this home, by the Model Context Protocol on standard input and output",
		Long: `Mcp is what Claude Code, Codex, Cursor, goose and others start to search what identities have
forgotten, to read rooms, and to ask identities. What the agent says is signed with your name, or
with that of --as.

An identity that is asked and does not run is resumed, or booted if there is none, until the agent
closes the input. docs/others.md has the settings of agents.`,
		Example: `  lethe mcp
  lethe mcp --as claude --name ada`,
		RunE: app.MakingHome(func(ctx context.Context, _ []string) error {
			return runMCP(ctx, app, options)
		}),
	}
	app.Runs.AddTo(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "sign with this `NAME` (default: yours)")
	cmd.AddCommand(newMCPAddCommand(app), newMCPImportCommand(app), newMCPListCommand(app),
		newMCPLoginCommand(app), newMCPRemoveCommand(app), newMCPTestCommand(app))
	return cmd
}

// runMCP serves the home to an agent of others. An identity that it asks runs here, if it does not elsewhere.
func runMCP(ctx context.Context, app *cli.App, options mcpOptions) error {
	as := cmp.Or(options.as, app.Settings.UserName())
	if err := cli.CheckSigner(as); err != nil {
		return err
	}
	const note = "an agent of others starts this, and talks with it in JSON; docs/others.md has the settings"
	return guest.Serve(app, note, func(guest *guest.Guest) error {
		talk := func(ctx context.Context, who string) (*host.Identity, error) {
			return guest.Talk(ctx, who, app.HostOptions(guest.Log))
		}
		say := func(room, text string) (chat.Line, error) {
			if err := cli.CheckRooms(room); err != nil {
				return chat.Line{}, err
			}
			return host.Post(app.Home, room, as, text)
		}
		return mcp.Run(ctx, mcp.Config{Home: app.Look, Log: guest.Log, Find: app.FindForClient, Talk: talk, Say: say})
	})
}
