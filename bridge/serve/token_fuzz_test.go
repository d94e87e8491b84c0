package serve

import (
	"path/filepath"
	"testing"

	"lethe/internal/test/lethetest"
)

// The file of the token may be of any bytes.
func FuzzToken(f *testing.F) {
	home := f.TempDir()
	file, err := filepath.Rel(home, TokenFile(home))
	lethetest.Must(f, err)
	lethetest.FuzzReaders(f, home, lethetest.Reader{
		Name: "token", File: file, Seeds: []string{newToken() + "\n", "short", "1234567890123456\x00", "1234567890123456\n7"},
		Read: func(testing.TB) error {
			_, err := ReadToken(TokenFile(home))
			return err
		},
	})
}
