package config

import (
	"bytes"
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"lethe/internal/durable"
	"lethe/mcp"
)

// AddServer appends the table [mcp.NAME] to the config.toml of a home. Comments and all else stay as they are.
func AddServer(home, name string, s mcp.Server) error {
	return edit(home, func(text string, settings *Settings) (string, error) {
		if _, there := settings.MCP[name]; there {
			return "", Invalid("remove it first: lethe mcp remove "+name, "there is a server %s already", name)
		}
		settings.MCP[name] = s
		return text + "\n" + tables(map[string]mcp.Server{name: s}), nil
	})
}

// RemoveServer takes the table [mcp.NAME] out of the config.toml of a home.
func RemoveServer(home, name string) error {
	return edit(home, func(text string, settings *Settings) (string, error) {
		if _, there := settings.MCP[name]; !there {
			const what = "there is no server %s"
			return "", Invalid("lethe mcp list shows those that there are", what, name)
		}
		delete(settings.MCP, name)
		header := regexp.MustCompile(`^\s*\[\s*mcp\s*\.\s*"?` + regexp.QuoteMeta(name) + `"?\s*[.\]]`)
		var left []string
		within := false
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "[") {
				within = header.MatchString(line)
			}
			if !within {
				left = append(left, line)
			}
		}
		return strings.Join(left, ""), nil
	})
}

// edit replaces the text of config.toml by one that means what the changed settings mean, and nothing else.
func edit(home string, change func(text string, settings *Settings) (string, error)) error {
	path := File(home)
	before, err := ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	meant, means := Settings{MCP: map[string]mcp.Server{}}, Settings{}
	if err := Parse(path, before, &meant); err != nil {
		return err
	}
	text, err := change(string(before), &meant)
	if err != nil {
		return err
	}
	if err := Parse(path, []byte(text), &means); err != nil {
		return err
	}
	if tables(meant.MCP) != tables(means.MCP) {
		return Invalid("edit it by hand; nothing was changed", "%s is written in a way that this command cannot edit", path)
	}
	return durable.WriteFile(path, []byte(text), 0o600)
}

// tables are the tables of servers, as people write them.
func tables(servers map[string]mcp.Server) string {
	var text bytes.Buffer
	out := toml.NewEncoder(&text)
	out.Indent = ""
	_ = out.Encode(map[string]any{"mcp": servers}) // strings: cannot fail
	return strings.TrimPrefix(text.String(), "[mcp]\n")
}
