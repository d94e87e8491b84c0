package servers

import (
	"fmt"
	"strings"

	"lethe/agent/config"
	"lethe/agent/tools/mcp"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// Flags describe a server: the flags of lethe mcp add.
type Flags struct {
	URL       string
	Env       []string // NAME=VALUE
	Header    []string // NAME=VALUE
	Read      []string // paths
	Write     []string
	NoNetwork bool
}

// Add writes a server into config.toml: a program, if there is a command, or one at an address.
func Add(app *cli.App, name string, flags Flags, command []string) error {
	server, err := flags.server(command)
	if err == nil {
		err = server.Check(name, app.Settings.Tools.Network == config.NetworkNone)
	}
	if err != nil {
		return exit.Usagef("add server %s: %w", name, err)
	}
	return config.AddServer(app.Home.Dir, name, server)
}

// server returns the server that the flags and a command describe. A command that is an address is taken for --url.
func (f Flags) server(command []string) (server mcp.Server, err error) {
	if f.URL == "" && len(command) == 1 && isAddress(command[0]) {
		f.URL, command = command[0], nil
	}
	server = mcp.Server{URL: f.URL, Read: f.Read, Write: f.Write}
	if len(command) > 0 {
		server.Command, server.Network = command, !f.NoNetwork
	}
	server.Env, err = parsePairs(f.Env)
	if err != nil {
		return server, err
	}
	server.Headers, err = parsePairs(f.Header)
	return server, err
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// parsePairs reads NAME=VALUE.
func parsePairs(list []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not of the form NAME=VALUE", text)
		}
		pairs[name] = value
	}
	return pairs, nil
}
