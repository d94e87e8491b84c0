//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"lethe/cmd/lethe/exit"
	"lethe/internal/test/lethetest"
)

// An archive whose end is damaged is refused with one line and the code of damage, and nothing of it is imported.
func TestDamagedEndOfAnArchive(t *testing.T) {
	tr := newTravel(t)
	old, fresh := tr.newHome(), tr.newHome()
	tr.lines(old, func() {}, "remember that the deploy key is in vault 7")
	reader, err := zstd.NewReader(nil)
	lethetest.Must(t, err)
	defer reader.Close()
	unpacked, err := reader.DecodeAll(tr.lethe(old, "export", "ada"), nil)
	lethetest.Must(t, err)
	writer, err := zstd.NewWriter(nil)
	lethetest.Must(t, err)
	const end = 1024 // of a tar file: two empty blocks
	damaged := string(unpacked[:len(unpacked)-end]) + strings.Repeat("x", end)
	file := filepath.Join(lethetest.Dir(t), "ada.lethe")
	lethetest.Must(t, os.WriteFile(file, writer.EncodeAll([]byte(damaged), nil), 0o600))

	said := tr.refuses(exit.Corrupt, fresh, "import", file)
	line, rest, _ := strings.Cut(said, "\n")
	if !strings.HasPrefix(line, "lethe: import: the archive is damaged") || strings.Count(rest, "\n") != 1 ||
		!strings.HasPrefix(rest, "hint: ") {
		t.Errorf("import said %s", said)
	}
	if out := tr.lethe(fresh, "agents"); strings.Contains(string(out), "ada") {
		t.Errorf("imported:\n%s", out)
	}
}
