package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"lethe/internal/durable"
	"lethe/internal/secret"
)

// KeysFile is the path of the file with keys, one NAME=VALUE a line. It has the mode 0600.
func KeysFile(home string) string { return filepath.Join(home, "keys.env") }

// parseKey returns the variable and the value of a line of the file of keys; false, of a comment.
func parseKey(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", true
	}
	name, value, ok = strings.Cut(line, "=")
	isName := name != "" && !strings.ContainsAny(name, " \t\"'#")
	return name, strings.Trim(value, `"'`), ok && isName
}

// eachKey calls f with each line of the file of keys, which may be missing, and what stands there.
func eachKey(home string, f func(line, name, value string)) error {
	path := KeysFile(home)
	text, cut, err := durable.ReadRegular(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || cut:
		return Invalid("it has to be a file of one key a line, and no link", "read %s: %v", path, err)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		name, value, ok := parseKey(line)
		if !ok { // what stands there may be a key
			return Invalid("one key a line, such as OPENAI_API_KEY=…", "read %s: line %d is not NAME=VALUE", path, number)
		}
		f(strings.TrimRight(line, "\r\n")+"\n", name, value)
	}
	return nil
}

// readKeys has secret.Value find the keys of a home, which are struck out from then on.
func readKeys(home string) error {
	return eachKey(home, func(_, name, value string) { secret.Keep(name, value) })
}

// SetKey writes the key of a variable into the file of keys of a home; "" takes it out. Other lines stay as they are.
// When it returns, the key survives power loss, and this process uses it unless its environment has another one.
func SetKey(home, name, key string) error {
	line := name + "=" + strings.TrimSpace(key) + "\n"
	got, key, ok := parseKey(line)
	isLine := ok && !strings.ContainsAny(key, "\n\r\x00")
	if !isLine || got != name {
		return Invalid("", "set %s: a key is one line", name)
	}
	text := ""
	err := eachKey(home, func(line, has, _ string) {
		if has != name {
			text += line
		}
	})
	if key != "" {
		text += line
	}
	if err == nil {
		err = durable.WriteFile(KeysFile(home), []byte(text), 0o600)
	}
	if err == nil {
		secret.Keep(name, key)
	}
	return err
}
