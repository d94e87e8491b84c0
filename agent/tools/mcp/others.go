package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/tools/catalogue"
	"lethe/internal/pattern"
)

// Files are those in which other programs keep their servers: Claude Code, Claude Desktop, Cursor and VS Code, of a
// user and of the directory that work goes on in.
func Files(user, dir string) (paths []string) {
	for _, name := range []string{
		".claude.json", ".config/Claude/claude_desktop_config.json",
		"Library/Application Support/Claude/claude_desktop_config.json", ".cursor/mcp.json",
		".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json",
	} {
		paths = append(paths, filepath.Join(user, name))
	}
	for _, name := range []string{".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// foreign is a server in the form of other programs.
type foreign struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string

	Disabled bool
}

var (
	notInName = pattern.Lazy(`[^a-z0-9_-]+`)
	variable  = pattern.Lazy(`^(Bearer )?\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// Parse reads the servers of a file of another program, by the names that they have here. Programs may reach the
// network, as they may there. refused says of each that cannot be taken over, why.
func Parse(file []byte) (servers map[string]Server, refused []error, err error) {
	var all struct {
		MCPServers map[string]foreign
		Servers    map[string]foreign // as VS Code calls them
	}
	if err := json.Unmarshal(file, &all); err != nil {
		return nil, nil, fmt.Errorf("it is not JSON that holds servers: %w", err)
	}
	if all.MCPServers == nil {
		all.MCPServers = all.Servers
	}
	servers = map[string]Server{}
	for _, name := range slices.Sorted(maps.Keys(all.MCPServers)) {
		s, err := all.MCPServers[name].server()
		here := strings.Trim(notInName().ReplaceAllString(strings.ToLower(name), "-"), "-")
		if err == nil {
			err = s.Check(here, false)
		}
		if _, twice := servers[here]; twice {
			err = fmt.Errorf("another one is called %s here, too", here)
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", name, err))
			continue
		}
		servers[here] = s
	}
	return servers, refused, nil
}

// server is f as Lethe has it.
func (f foreign) server() (Server, error) {
	if f.Disabled {
		return Server{}, errors.New("it is disabled there")
	}
	s := Server{URL: f.URL, Env: maps.Clone(f.Env), Headers: maps.Clone(f.Headers)}
	if f.Command != "" {
		s.Command, s.Network = append([]string{f.Command}, f.Args...), true
	}
	texts := append([]string{f.URL}, s.Command...)
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for key, value := range values {
			values[key] = variable().ReplaceAllString(value, "$1$$$2")
			texts = append(texts, values[key])
		}
	}
	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "${") }) {
		return s, errors.New("it has a ${…} that only that program fills in: write this one with lethe mcp add")
	}
	return s, nil
}

// Look tells about a server without starting it.
type Look struct {
	Name  string `json:"name"`
	At    string `json:"at"`              // its command, or the host of its URL
	Tools int    `json:"tools"`           // that it had when it was last asked; -1: it never was
	Wrong string `json:"wrong,omitempty"` // why it cannot be started
}

// List tells of all servers, by name.
func (s *Servers) List() (all []Look) {
	for _, one := range s.all {
		items, known := one.listed()
		l := Look{Name: one.name, At: one.At(), Tools: len(items)}
		if !known {
			l.Tools = -1
		}
		if one.broken != nil {
			l.Wrong = one.broken.Error()
		}
		all = append(all, l)
	}
	return all
}

// At returns the command of a server, or the host of its URL.
func (s Server) At() string {
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return strings.Join(s.Command, " ")
}

// ErrNoServer is wrapped where the settings have no server of a name, which follows.
var ErrNoServer = errors.New("there is no server")

// Test starts a server that does not run yet, and returns what it can do, and why tools are left out. Unless paste is
// nil, people log in before: paste shows them the address to open, and returns the one that their browser ends at, or
// the code in it.
func (s *Servers) Test(
	ctx context.Context, name string, paste func(address string) string,
) (items []catalogue.Item, left []string, err error) {
	one := s.called(name)
	if one == nil {
		return nil, nil, fmt.Errorf("%w %s", ErrNoServer, name)
	}
	if paste != nil {
		if err := one.login(ctx, paste); err != nil {
			return nil, nil, fmt.Errorf("log in to %s: %w", name, err)
		}
	}
	err = one.with(ctx, func(*live) error { return nil }) // a start lists
	items, _ = one.listed()
	return items, one.left, err
}
