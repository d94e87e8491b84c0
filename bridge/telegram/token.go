package telegram

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"lethe/internal/durable"
)

// ErrToken is wrapped by the error of Run when Telegram does not know the
// token: it was mistyped, or revoked. Nothing but another token helps.
var ErrToken = errors.New("telegram does not accept the token")

// maxToken bounds a token file, in bytes. Tokens are about 46 long.
const maxToken = 256

var tokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$`) })

// ReadToken reads the bot's token from a file that nobody but its owner can
// open: a regular file, no link, of mode 0600 or 0400 or less, that holds one
// line. No error says anything of the content.
func ReadToken(path string) (string, error) {
	data, cut, err := durable.ReadRegular(path, maxToken)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	if mode := fi.Mode().Perm(); mode&0o177 != 0 {
		return "", fmt.Errorf("read the token: others can open %s (mode %04o): chmod 600 it", path, mode)
	}
	token := strings.TrimSpace(string(data))
	if cut || !tokenForm().MatchString(token) {
		return "", fmt.Errorf("read the token: %s does not hold a token in one line, as in 123456:ABC-def", path)
	}
	return token, nil
}

// CheckToken refuses what cannot be a token, and would otherwise end up in URLs, with an error
// that wraps ErrToken and says nothing of it.
func CheckToken(token string) error {
	if token == "" {
		return fmt.Errorf("%w: there is none", ErrToken)
	}
	if !tokenForm().MatchString(token) {
		return fmt.Errorf("%w: it is not of the form 123456:ABC-def", ErrToken)
	}
	return nil
}
