package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
)

// testTime is how long lethe mcp test waits for a server to start: npx may have to fetch it first.
const testTime = 3 * time.Minute

// servers are those of config.toml. The caller closes them.
func (p *program) servers() *mcp.Servers {
	return mcp.New(mcp.Config{
		Servers: p.settings.MCP, Home: p.home.Dir, Handshake: testTime,
		Trusted: p.settings.Tools.Bash == tools.BashTrusted,
	})
}

func (p *program) serversCommand(call) error {
	servers := p.servers()
	defer servers.Close()
	return p.words("servers", servers.List(), nil)
}

func (p *program) serverTestCommand(c call) error { return p.try(c, nil) }

func (p *program) serverLoginCommand(c call) error {
	return p.try(c, func(address string) string {
		p.note("open this in a browser, then paste the address that it ends at (or its code): %s", address)
		line, _ := bufio.NewReader(p.in).ReadString('\n') // what is missing is no answer
		return line
	})
}

func (p *program) try(c call, paste func(string) string) error {
	servers := p.servers()
	defer servers.Close()
	items, err := servers.Test(c, c.arg(0), paste)
	return p.words("server", items, err)
}

func (p *program) serverAddCommand(c call) error {
	name, s := c.arg(0), mcp.Server{URL: c.text("url"), Read: c.list("read"), Write: c.list("write")}
	var err error
	if len(c.args) > 1 {
		s.Command, s.Network = c.args[1:], !c.is("no-network")
	}
	if s.Env, err = pairs(c.list("env")); err == nil {
		s.Headers, err = pairs(c.list("header"))
	}
	if err == nil {
		err = s.Check(name, p.settings.Tools.Network == config.NetworkNone)
	}
	if err != nil {
		return usagef("add server %s: %w", name, err)
	}
	if err := config.AddServer(p.home.Dir, name, s); err != nil {
		return err
	}
	return p.words("added", []string{name}, nil)
}

// pairs reads NAME=VALUE.
func pairs(list []string) (map[string]string, error) {
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

func (p *program) serverRemoveCommand(c call) error {
	name := c.arg(0)
	if err := config.RemoveServer(p.home.Dir, name); err != nil {
		return err
	}
	kept := filepath.Join(p.home.Dir, "mcp", name)
	for _, ending := range []string{".json", ".token.json"} {
		if err := os.Remove(kept + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return p.print(object{"removed": name, "kept": kept}, "removed: %s; what it wrote itself stays in %s\n", name, kept)
}

func (p *program) serverImportCommand(c call) error {
	user, _ := os.UserHomeDir() // without one there is nothing of theirs
	files := mcp.Files(user, ".")
	if c.arg(0) != "" {
		files = c.args[:1]
	}
	added := []string{}
	for _, path := range files {
		text, err := config.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && c.arg(0) == "" {
			continue
		}
		if err != nil {
			return err
		}
		all, refused, err := mcp.Parse(text)
		if err != nil {
			refused = append(refused, err)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if err := config.AddServer(p.home.Dir, name, all[name]); err != nil {
				refused = append(refused, err)
				continue
			}
			added = append(added, name)
		}
		for _, err := range refused {
			p.note("%s: left out: %v", path, err)
		}
	}
	return p.words("added", added, nil)
}
