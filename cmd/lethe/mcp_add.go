package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/tools/mcp"
)

// mcpAddOptions are the flags of lethe mcp add.
type mcpAddOptions struct {
	url       string
	env       []string
	header    []string
	read      []string
	write     []string
	noNetwork bool
}

func newMCPAddCommand(app *app) *cobra.Command {
	var options mcpAddOptions
	cmd := &cobra.Command{
		Use:   "add NAME [COMMAND...]",
		Short: "Have identities use the tools of a server: a program, behind --, or one at an address",
		Long: `Add writes the table [mcp.NAME] into config.toml, which docs/others.md explains. The program may reach
the network and nothing of your files but what the flags name. In a VALUE that is $NAME, or
'Bearer $NAME', it stands for that variable of Lethe's environment, so no key has to be in a file.
Restart lethe run after it.`,
		Example: `  lethe mcp add notes --read ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  lethe mcp add github --env 'GITHUB_PERSONAL_ACCESS_TOKEN=$GITHUB_TOKEN' -- github-mcp-server stdio
  lethe mcp add docs --url https://example.com/mcp --header 'Authorization=Bearer $DOCS_TOKEN'`,
		RunE: app.makingHome(func(_ context.Context, args []string) error {
			return runMCPAdd(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.url, "url", "", "of a server that speaks over `HTTP`")
	flags.StringArrayVar(&options.env, "env", nil, "that the program gets: `NAME=VALUE`")
	flags.StringArrayVar(&options.header, "header", nil, "of each request: `NAME=VALUE`")
	flags.StringArrayVar(&options.read, "read", nil, "a `FILE` or directory that it may read")
	flags.StringArrayVar(&options.write, "write", nil, "a `DIR` that it may change")
	flags.BoolVar(&options.noNetwork, "no-network", false, "the program reaches no network")
	return cmd
}

func runMCPAdd(app *app, options mcpAddOptions, args []string) error {
	name := args[0]
	server, err := serverOf(options, args[1:])
	if err == nil {
		err = server.Check(name, app.settings.Tools.Network == config.NetworkNone)
	}
	if err != nil {
		return usagef("add server %s: %w", name, err)
	}
	if err := config.AddServer(app.home.Dir, name, server); err != nil {
		return err
	}
	return showAdded(app, []string{name})
}

// serverOf is the server that flags and a command describe.
func serverOf(options mcpAddOptions, command []string) (server mcp.Server, err error) {
	server = mcp.Server{URL: options.url, Read: options.read, Write: options.write}
	if len(command) > 0 {
		server.Command, server.Network = command, !options.noNetwork
	}
	if server.Env, err = parsePairs(options.env); err != nil {
		return server, err
	}
	server.Headers, err = parsePairs(options.header)
	return server, err
}

// parsePairs reads NAME=VALUE.
func parsePairs(list []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not of the form NAME=VALUE", text)
		}
		all[name] = value
	}
	return all, nil
}

func showAdded(app *app, added []string) error {
	return app.show(added, func(out io.Writer) {
		if len(added) == 0 {
			fmt.Fprintln(out, "no server was added")
		}
		for _, name := range added {
			fmt.Fprintf(out, "added: %s; this starts it and lists its tools: %s\n", name, app.lethe("mcp test %s", name))
		}
	})
}
