// Package servers keeps the servers of tools in config.toml, for the commands below lethe mcp: it adds them, takes them
// over from other programs, and tries them.
package servers

import (
	"context"
	"fmt"
	"io"
	"time"

	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

// startTime bounds the start of a server: npx may have to fetch it first.
const startTime = 3 * time.Minute

// Open returns the servers of config.toml. The caller closes them.
func Open(app *cli.App) *mcp.Servers {
	return mcp.New(mcp.Config{
		Servers: app.Settings.MCP, Home: app.Home.Dir, Handshake: startTime,
		Trusted: app.Settings.Tools.Bash == tools.BashTrusted,
	})
}

// Try starts a server and lists its tools. Unless paste is nil, people log in before.
func Try(ctx context.Context, app *cli.App, name string, paste func(address string) string) error {
	servers := Open(app)
	defer servers.Close()
	found, left, err := servers.Test(ctx, name, paste)
	if err != nil {
		return err
	}
	for _, why := range left {
		fmt.Fprintln(app.Err, "a tool is left out:", why)
	}
	return app.Show(found, func(out io.Writer) {
		rows := console.NewTable("TOOL", "WHAT IT DOES")
		for _, tool := range found {
			rows.Row(tool.Name, tool.About)
		}
		rows.Write(out)
	})
}

// ShowAdded lists the names of servers that were added.
func ShowAdded(app *cli.App, added []string) error {
	return app.Show(added, func(out io.Writer) {
		if len(added) == 0 {
			fmt.Fprintln(out, "no server was added")
		}
		for _, name := range added {
			fmt.Fprintf(out, "added: %s; this starts it and lists its tools: %s\n", name, app.Lethe("mcp test %s", name))
		}
	})
}
