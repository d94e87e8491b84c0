// Package bot finds the token of a home's Telegram bot, and the list of people who may write to it.
package bot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"lethe/agent/config"
	"lethe/bridge/access"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/exit"
	"lethe/internal/secret"
)

// Variable is the variable of the environment with the token.
const Variable = "TELEGRAM_BOT_TOKEN"

const tokenHint = "@BotFather gives you one; see docs/telegram.md"

// Token reads the token: from the environment, or from file, which may be "". It never returns the token in an error.
func Token(file string) (string, error) {
	token := secret.Value(Variable)
	var err error
	switch {
	case token != "":
		err = telegram.CheckToken(token)
		if err != nil {
			err = exit.Hint(fmt.Errorf("read %s: %w", Variable, err), tokenHint)
		}
	case file == "":
		err = fmt.Errorf("%s is not set, and config.toml names no telegram.token_file", Variable)
		err = exit.Hint(err, tokenHint)
	default:
		token, err = telegram.ReadToken(file)
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "telegram.token_file in config.toml names it; put the token into it, mode 0600. " + tokenHint
		}
		err = exit.Hint(err, "%s", hint)
	}
	if err != nil {
		return "", exit.With(exit.NoKey, err)
	}
	secret.Add(token)
	return token, nil
}

// TokenFile returns the path of telegram.token_file, which may be below dir, the home; or "".
func TokenFile(dir string, settings telegram.Settings) string {
	file := settings.TokenFile
	if file != "" && !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	return file
}

// Dir returns the directory of the bridge in the home at dir.
func Dir(dir string) string { return filepath.Join(dir, "bridges", telegram.Name) }

// Policy returns the list of people who may write. Nobody on the other side may sign with one of the names. The people
// decide.
func Policy(dir string, settings telegram.Settings, names func() []string, people []string) *access.Policy {
	return &access.Policy{Dir: Dir(dir), Members: settings.Members, Names: names, People: people}
}

// Room returns the room of a chat that was allowed with this one, which may be "".
func Room(settings telegram.Settings, room string) string {
	return cmp.Or(room, settings.Room, config.DefaultRoom)
}
