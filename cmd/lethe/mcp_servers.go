package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
)

// testTime is how long lethe mcp test waits for a server to start: npx may have to fetch it first.
const testTime = 3 * time.Minute

// openServers are the servers of config.toml. The caller closes them.
func openServers(app *app) *mcp.Servers {
	return mcp.New(mcp.Config{
		Servers: app.settings.MCP, Home: app.home.Dir, Handshake: testTime,
		Trusted: app.settings.Tools.Bash == tools.BashTrusted,
	})
}

func newMCPListCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the servers whose tools identities may use, without starting them",
		RunE: app.withHome(func(context.Context, []string) error {
			return runMCPList(app)
		}),
	}
}

func runMCPList(app *app) error {
	servers := openServers(app)
	defer servers.Close()
	all := servers.List()
	return app.show(all, func(out io.Writer) {
		if len(all) == 0 {
			fmt.Fprintf(out, "no servers of tools yet; docs/others.md tells of them, and %s says how to add one\n",
				app.lethe("mcp add --help"))
			return
		}
		rows := newTable("SERVER", "WHERE", "TOOLS", "WRONG")
		for _, server := range all {
			count := "not asked yet"
			if server.Tools >= 0 {
				count = strconv.Itoa(server.Tools)
			}
			rows.row(server.Name, server.At, count, server.Wrong)
		}
		rows.write(out)
	})
}

func newMCPTestCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Start a server, which may take minutes if it has to be fetched first, and list its tools",
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return testServer(ctx, app, args[0], nil)
		}),
	}
}

func newMCPLoginCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "login NAME",
		Short: "Allow identities to use a server at an address that wants a login",
		Long: `Login prints an address to open in any browser, and reads from standard input the address at which
the browser ends, which need not load, or the code in it. The token is kept in the home; a daemon
that runs uses it at once. --header of mcp add is for servers that take a key.`,
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return runMCPLogin(ctx, app, args[0])
		}),
	}
}

func runMCPLogin(ctx context.Context, app *app, name string) error {
	return testServer(ctx, app, name, func(address string) string {
		app.note("open this in a browser, then paste the address that it ends at (or its code): %s", address)
		line, _ := bufio.NewReader(app.in).ReadString('\n') // an end of input is no answer
		return line
	})
}

// testServer starts a server and lists its tools. Unless paste is nil, people log in before.
func testServer(ctx context.Context, app *app, name string, paste func(address string) string) error {
	servers := openServers(app)
	defer servers.Close()
	items, err := servers.Test(ctx, name, paste)
	if err != nil {
		return err
	}
	return app.show(items, func(out io.Writer) {
		rows := newTable("TOOL", "WHAT IT DOES")
		for _, tool := range items {
			rows.row(tool.Name, tool.About)
		}
		rows.write(out)
	})
}

func newMCPRemoveCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a server out of config.toml, and its token out of the home",
		RunE: app.withHome(func(_ context.Context, args []string) error {
			return runMCPRemove(app, args[0])
		}),
	}
}

func runMCPRemove(app *app, name string) error {
	if err := config.RemoveServer(app.home.Dir, name); err != nil {
		return err
	}
	kept := filepath.Join(app.home.Dir, "mcp", name)
	for _, ending := range []string{".json", ".token.json"} {
		if err := os.Remove(kept + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return app.print(object{"removed": name, "kept": kept}, "removed: %s; what it wrote itself stays in %s\n", name, kept)
}
