package telegram

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"lethe/internal/test/lethetest"
)

// What stands in the directory of the bridge may be of any bytes.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	whole := lethetest.Blocks(f, "bridges.md", "chats.json")[0]
	lethetest.FuzzReaders(f, dir, lethetest.Reader{
		Name: "chats.json", File: "chats.json", Seeds: []string{whole, `{"version":1,"moved":{"1":"1","2":"1"}}`, `{"version":1,"moved":null}`},
		Read: func(t testing.TB) error {
			known, err := openChats(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			for _, id := range []string{"1", "-100", ""} {
				known.canonical(id)
				known.current(id)
			}
			if err := known.move("-100", "-1001"); err != nil {
				return err
			}
			lethetest.Equal(t, "names of a group that moved", known.canonical("-1001"), known.canonical("-100"))
			kept, err := filepath.Glob(filepath.Join(dir, "chats.json.*"))
			lethetest.Must(t, err)
			for _, path := range kept {
				lethetest.Must(t, os.Remove(path))
			}
			return nil
		},
	}, lethetest.Reader{
		Name: "the token", File: "token", Seeds: []string{"123456:ABC-def\n", "123456:ABC\nx", ":"},
		Read: func(testing.TB) error {
			_, err := ReadToken(filepath.Join(dir, "token"))
			return err
		},
	})
}
