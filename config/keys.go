package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"lethe/internal/durable"
	"lethe/internal/lazy"
	"lethe/internal/secret"
)

// KeysFile is the path of the file with keys, one NAME=VALUE a line. It has the mode 0600.
func KeysFile(home string) string { return filepath.Join(home, "keys.env") }

var variable = lazy.Regexp(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$`)

// parseKey returns the variable and the value of a line of the file of keys; no variable, of a comment.
func parseKey(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", true
	}
	m := variable().FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	value = strings.TrimSpace(m[2])
	if n := len(value) - 1; n > 0 && value[0] == value[n] && strings.ContainsRune(`"'`, rune(value[0])) {
		value = value[1:n]
	}
	return m[1], value, true
}

// keysText reads the file of keys, which may be missing.
func keysText(path string) (string, error) {
	text, cut, err := durable.ReadRegular(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", Invalid("it has to be a file, no link", "read keys: %w", err)
	case cut:
		return "", Invalid("", "read %s: it has more than %d bytes", path, maxFile)
	}
	return string(text), nil
}

// readKeys has secret.Value find the keys of a home, which are struck out from then on.
func readKeys(home string) error {
	path := KeysFile(home)
	text, err := keysText(path)
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		name, value, ok := parseKey(line)
		if !ok { // what stands there may be a key
			return Invalid("one key a line, such as OPENAI_API_KEY=…", "read %s: line %d is not NAME=VALUE", path, number)
		}
		secret.Keep(name, value)
	}
	return nil
}

// ValidKey reports whether a text can be the value of a variable there: one line, without quotes around it.
func ValidKey(text string) bool {
	_, value, ok := parseKey("K=" + text)
	return ok && value == text && !strings.ContainsAny(text, "\r\x00")
}

// SetKey writes the key of a variable into the file of keys of a home; "" takes it out. Other lines stay as they are.
// When it returns, the key survives power loss, and this process uses it unless its environment has another one.
func SetKey(home, name, key string) error {
	key = strings.TrimSpace(key)
	if got, _, _ := parseKey(name + "=x"); name == "" || got != name || !ValidKey(key) {
		return Invalid("", "set %s: a key is one line, without quotes around it", name)
	}
	path := KeysFile(home)
	before, err := keysText(path)
	if err != nil {
		return err
	}
	text := ""
	for line := range strings.Lines(before) {
		if was, _, _ := parseKey(line); was != name {
			text += strings.TrimSuffix(line, "\n") + "\n"
		}
	}
	if key != "" {
		text += name + "=" + key + "\n"
	}
	if err := durable.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	secret.Keep(name, key)
	return nil
}
