package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/mcp"
	"lethe/chat"
)

// mcpOptions are the flags of lethe mcp.
type mcpOptions struct {
	as string
}

func newMCPCommand(app *app) *cobra.Command {
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
		RunE: app.makingHome(func(ctx context.Context, _ []string) error {
			return runMCP(ctx, app, options)
		}),
	}
	app.runs.addTo(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "sign with this `NAME` (default: yours)")
	cmd.AddCommand(newMCPAddCommand(app), newMCPImportCommand(app), newMCPListCommand(app),
		newMCPLoginCommand(app), newMCPRemoveCommand(app), newMCPTestCommand(app))
	return cmd
}

// runMCP serves the home to an agent of others. An identity that it asks runs here, if it does not elsewhere.
func runMCP(ctx context.Context, app *app, options mcpOptions) error {
	as := cmp.Or(options.as, app.settings.UserName())
	if err := checkSigner(as); err != nil {
		return err
	}
	const note = "an agent of others starts this, and talks with it in JSON; docs/others.md has the settings"
	return serveGuest(app, note, func(guest *guest) error {
		talk := func(ctx context.Context, who string) (*host.Identity, error) {
			return guest.talk(ctx, who, app.hostOptions(guest.log))
		}
		say := func(room, text string) (chat.Line, error) {
			if err := checkRooms(room); err != nil {
				return chat.Line{}, err
			}
			return host.Post(app.home, room, as, text)
		}
		return mcp.Run(ctx, mcp.Config{Home: app.look, Log: guest.log, Find: app.found, Talk: talk, Say: say})
	})
}

// found is the identity that a client means: "" is the one of --name, or the default one.
func (app *app) found(who string) (home.Identity, error) {
	who = cmp.Or(who, app.runs.name)
	if who != "" {
		return app.home.Find(who)
	}
	return host.Default(app.home, app.settings.Settings)
}
