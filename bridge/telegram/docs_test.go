package telegram

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// docs/telegram.md explains the words of the program, and the example of docs/bridges.md is read.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/telegram.md")
	lethetest.Must(t, err)
	text := string(page)
	for _, said := range []string{
		ErrToken.Error(),
		"another program fetches the messages of this bot",
		(&apiError{Code: 429}).Error(),
	} {
		if !strings.Contains(text, said) {
			t.Errorf("the page does not explain %q", said)
		}
	}
	for _, c := range commands {
		if !strings.Contains(text, "`/"+c.Command) {
			t.Errorf("the page does not tell of /%s", c.Command)
		}
	}
	example := lethetest.Blocks(t, "bridges.md", "chats.json")[0]
	dir := t.TempDir()
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "chats.json"), []byte(example), 0o600))
	m, err := openChats(dir, slog.New(slog.DiscardHandler))
	lethetest.Must(t, err)
	equal(t, "moved", m.canonical("-1002000000001"), "-4000000001")
}
