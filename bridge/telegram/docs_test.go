package telegram

import (
	"log/slog"
	"os"
	"path/filepath"
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
		lethetest.Words(t, text, said)
	}
	for _, c := range commands {
		lethetest.Words(t, text, "`/"+c.Command)
	}
	example := lethetest.Blocks(t, "bridges.md", "chats.json")[0]
	dir := t.TempDir()
	lethetest.Write(t, filepath.Join(dir, "chats.json"), example)
	m, err := openChats(dir, slog.New(slog.DiscardHandler))
	lethetest.Must(t, err)
	equal(t, "moved", m.canonical("-1002000000001"), "-4000000001")
}
