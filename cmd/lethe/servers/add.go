package servers

import (
	"fmt"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
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
	return write(app, name, server)
}

// write writes a server into config.toml. Where its program needs paths that it may not read, a person is asked before.
func write(app *cli.App, name string, server mcp.Server) error {
	missing := server.Unreadable()
	_, isThere := app.Settings.MCP[name] // which is refused below, without a question
	isBound := app.Settings.Tools.Bash != tools.BashTrusted
	if len(missing) > 0 && isBound && !isThere {
		if err := letRead(app, name, missing); err != nil {
			return err
		}
		server.Read = append(server.Read, missing...)
	}
	return config.AddServer(app.Home.Dir, name, server)
}

// letRead asks whether a program may read the paths that it needs.
func letRead(app *cli.App, name string, paths []string) error {
	var again strings.Builder
	for _, path := range paths {
		again.WriteString(" --read " + console.Quoted(path))
	}
	needs := strings.Join(paths, " and ")
	refusal := exit.Usagef("add server %s: its program needs %s, which it may not read", name, needs)
	hint := fmt.Sprintf("at a terminal you are asked; %s with%s lets it", app.Lethe("mcp add %s", name), again.String())
	if app.JSON || !console.IsTerminal(app.In) {
		return exit.Hint(refusal, "%s", hint)
	}
	question := fmt.Sprintf("The program of %s needs to read %s. May it? [Y/n] ", name, needs)
	answer, err := app.ReadTyped(app.Err, question, false)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"", "y", "yes"}, strings.ToLower(answer)) {
		return exit.Hint(refusal, "%s", hint)
	}
	return nil
}

// server returns the server that the flags and a command describe. A command that is an address is taken for --url.
func (f Flags) server(command []string) (server mcp.Server, err error) {
	isBare := f.URL == "" && len(command) == 1
	if isBare && isAddress(command[0]) {
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
