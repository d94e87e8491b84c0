package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/cmd/lethe/servers"
)

func newMCPAddCommand(app *cli.App) *cobra.Command {
	var options servers.Flags
	cmd := &cobra.Command{
		Use:   "add NAME [URL|COMMAND...]",
		Short: "Have identities use the tools of a server: a program, behind --, or one at an address",
		Long: `Add writes the table [mcp.NAME] into config.toml, which docs/others.md explains. The program may reach
the network and nothing of your files but what the flags name. In a VALUE that is $NAME, or
'Bearer $NAME', it stands for that variable of Lethe's environment, so no key has to be in a file.
Restart lethe run after it.`,
		Example: `  lethe mcp add notes --read ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  lethe mcp add github --env 'GITHUB_PERSONAL_ACCESS_TOKEN=$GITHUB_TOKEN' -- github-mcp-server stdio
  lethe mcp add docs https://example.com/mcp --header 'Authorization=Bearer $DOCS_TOKEN'`,
		Args: cli.MinimumArgs(1),
		RunE: app.MakingHome(func(_ context.Context, args []string) error {
			return runMCPAdd(app, options, args)
		}),
	}
	cmd.SetFlagErrorFunc(mcpAddFlagError)
	flags := cmd.Flags()
	flags.StringVar(&options.URL, "url", "", "of a server that speaks over `HTTP`")
	flags.StringArrayVar(&options.Env, "env", nil, "that the program gets: `NAME=VALUE`")
	flags.StringArrayVar(&options.Header, "header", nil, "of each request: `NAME=VALUE`")
	flags.StringArrayVar(&options.Read, "read", nil, "a `FILE` or directory that it may read")
	flags.StringArrayVar(&options.Write, "write", nil, "a `DIR` that it may change")
	flags.BoolVar(&options.NoNetwork, "no-network", false, "the program reaches no network")
	return cmd
}

// mcpAddFlagError says where a flag that is not Lethe's own belongs: to the program of the server.
func mcpAddFlagError(cmd *cobra.Command, err error) error {
	err = cli.FlagError(cmd, err)
	if hint, _ := exit.HintOf(err); strings.HasPrefix(hint, "did you mean") {
		return err
	}
	return exit.Hint(err, "a program that has flags stands behind --: %s NAME -- COMMAND", cmd.CommandPath())
}

func runMCPAdd(app *cli.App, flags servers.Flags, args []string) error {
	name, command := args[0], args[1:]
	if err := servers.Add(app, name, flags, command); err != nil {
		return err
	}
	return servers.ShowAdded(app, []string{name})
}
