package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"lethe/agent/tools/mcp"
	"lethe/internal/durable"
	"lethe/internal/pattern"
)

// AddServer appends the table [mcp.NAME] to the config.toml of a home. Comments and all else stay as they are. Keys in
// the table go into the file of keys, and their names into the table: headers, and what the environment has under a
// name such as API_KEY.
func AddServer(home, name string, s mcp.Server) error {
	return edit(home, func(text string, settings *Settings) (string, error) {
		if _, there := settings.MCP[name]; there {
			how := "change [mcp." + name + "] in " + File(home) + ", or remove it and add it again: lethe mcp remove " + name
			return "", Invalid(how, "there is a server %s already", name)
		}
		if err := hold(home, name, &s); err != nil {
			return "", err
		}
		settings.MCP[name] = s
		return text + "\n" + tables(map[string]mcp.Server{name: s}), nil
	})
}

var isKey = pattern.Lazy(`(?i)key|token|secret|passw|auth|credential`)

// hold puts the keys of a server into the file of keys.
func hold(home, server string, s *mcp.Server) error {
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for name, value := range values {
			key := strings.TrimPrefix(value, "Bearer ")
			isHeld := key == "" || key[0] == '$'
			isSecret := s.URL != "" || isKey().MatchString(name)
			if isHeld || !isSecret {
				continue
			}
			variable := heldAs(server, name)
			if err := SetKey(home, variable, key); err != nil {
				return err
			}
			values[name] = strings.TrimSuffix(value, key) + "$" + variable
		}
	}
	return nil
}

// heldAs is the name under which the file of keys has one of a server.
func heldAs(server, name string) string {
	return "MCP_" + strings.ToUpper(strings.ReplaceAll(server+"_"+name, "-", "_"))
}

// within matches a line that begins no table.
const within = `(?:[ \t]*(?:[^\[\s].*)?\n)`

// RemoveServer takes the table [mcp.NAME] out of the config.toml of a home, and its keys out of the file of keys.
func RemoveServer(home, name string) error {
	var was mcp.Server
	err := edit(home, func(text string, settings *Settings) (string, error) {
		if _, there := settings.MCP[name]; !there {
			return "", fmt.Errorf("%w %s", mcp.ErrNoServer, name)
		}
		was = settings.MCP[name]
		delete(settings.MCP, name)
		header := `(?m)^[ \t]*\[\s*mcp\s*\.\s*"?` + regexp.QuoteMeta(name) + `"?\s*[.\]].*\n`
		return regexp.MustCompile(header+within+`*`).ReplaceAllString(text, ""), nil
	})
	for _, values := range []map[string]string{was.Env, was.Headers} {
		for key, value := range values {
			if held := heldAs(name, key); err == nil && strings.HasSuffix(value, "$"+held) {
				err = SetKey(home, held, "")
			}
		}
	}
	return err
}

// Set gives keys of the config.toml of a home, such as "user" and "model.name", their values: strings and numbers, of
// which empty ones and 0 take a key out. Comments and all else stay as they are. A value that makes no sense is
// refused.
func Set(home string, values map[string]any) error {
	return edit(home, func(text string, settings *Settings) (string, error) {
		lines := map[string]string{} // of each table; "" is the one without a header
		for _, name := range slices.Sorted(maps.Keys(values)) {
			table, key := "", name
			if before, after, dotted := strings.Cut(name, "."); dotted {
				table, key = before, after
			}
			line := assignment(key, values[name])
			if line == "" {
				return "", Invalid("", "%s = %q is not a number", name, values[name])
			}
			lines[table] += line
			text = assign(text, table, key, values[name])
		}
		all := lines[""]
		delete(lines, "")
		for _, table := range slices.Sorted(maps.Keys(lines)) {
			all += "[" + table + "]\n" + lines[table]
		}
		if err := Parse(File(home), []byte(all), settings); err != nil { // at once: keys may need each other
			return "", err
		}
		return text, nil
	})
}

// assignment is the line of a key, or "" for a json.Number without a number.
func assignment(key string, value any) string {
	line, err := toml.Marshal(map[string]any{key: value})
	if err != nil {
		return ""
	}
	return string(line)
}

// assign gives a key of a table its value in a text of TOML: where it has one, or at the beginning of the table, or in
// a new one. "" is the table that no header names. An empty value or 0 takes the key's line out. What goes over
// several lines it does not understand: read what comes of it.
func assign(text, table, key string, value any) string {
	const lines, is = within + `*?`, `[ \t]*=[ \t]*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#\s]+)`
	begin := `\A`
	if table != "" {
		begin = `(?m)^[ \t]*\[\s*` + regexp.QuoteMeta(table) + `\s*\].*\n`
	}
	line, gone := assignment(key, value), reflect.ValueOf(value).IsZero()
	own := regexp.MustCompile(begin + lines + `([ \t]*` + regexp.QuoteMeta(key) + is + `)(.*\n)`).FindStringSubmatchIndex(text)
	header := regexp.MustCompile(begin).FindStringIndex(text)
	switch {
	case own != nil && gone:
		return text[:own[2]] + text[own[1]:]
	case own != nil:
		return text[:own[2]] + strings.TrimSuffix(line, "\n") + text[own[4]:]
	case gone:
		return text
	case header != nil:
		return text[:header[1]] + line + text[header[1]:]
	}
	return strings.TrimPrefix(text+"\n["+table+"]\n"+line, "\n")
}

// edit replaces the text of config.toml by a text that means the changed settings, and nothing else.
func edit(home string, change func(text string, settings *Settings) (string, error)) error {
	path := File(home)
	before, err := ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // people may have put a link there
		path = real
	}
	meant, means := Settings{MCP: map[string]mcp.Server{}}, Settings{}
	if err := Parse(path, before, &meant); err != nil {
		return err
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		before = append(before, '\n')
	}
	text, err := change(string(before), &meant)
	if err != nil {
		return err
	}
	_, broken := toml.Decode(text, &map[string]any{})
	if err := Parse(path, []byte(text), &means); err != nil && broken == nil {
		return err
	}
	same := tables(meant.MCP) == tables(means.MCP)
	meant.MCP, means.MCP = nil, nil
	same = same && reflect.DeepEqual(meant, means)
	if broken != nil || !same {
		return Invalid("edit it by hand; nothing was changed", "%s is written in a way that cannot be edited here", path)
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
