package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
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
		if settings.MCP == nil {
			settings.MCP = map[string]mcp.Server{}
		}
		settings.MCP[name] = s
		if text = strings.TrimRight(text, "\n"); text != "" {
			text += "\n\n"
		}
		return text + table(name, s), nil
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
	var meant, means Settings
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
	same := func(a, b mcp.Server) bool { return table("", a) == table("", b) }
	if !maps.EqualFunc(meant.MCP, means.MCP, same) {
		return Invalid("edit it by hand; nothing was changed", "%s is written in a way that this command cannot edit", path)
	}
	return durable.WriteFile(path, []byte(text), 0o600)
}

// table is the table of a server, as people write it.
func table(name string, s mcp.Server) string {
	text := fmt.Sprintf("[mcp.%s]\n", name)
	pair := func(key string, value any) string {
		out, _ := toml.Marshal(map[string]any{key: value}) // strings: cannot fail
		return strings.TrimSpace(string(out))
	}
	for field, value := range reflect.ValueOf(s).Fields() {
		key := field.Tag.Get("toml")
		values, isMap := value.Interface().(map[string]string)
		switch {
		case value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0:
		case isMap:
			var pairs []string
			for _, k := range slices.Sorted(maps.Keys(values)) {
				pairs = append(pairs, pair(k, values[k]))
			}
			text += fmt.Sprintf("%s = { %s }\n", key, strings.Join(pairs, ", "))
		default:
			text += pair(key, value.Interface()) + "\n"
		}
	}
	return text
}
