//go:build unix

package main

import (
	"os"
	"os/exec"
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

	var said strings.Builder
	command := tr.command(fresh, "", "import", file)
	command.Stderr = &said
	err = command.Run()
	died, failed := err.(*exec.ExitError)
	if !failed || died.ExitCode() != exit.Corrupt {
		t.Errorf("import: %v", err)
	}
	line, rest, _ := strings.Cut(said.String(), "\n")
	if !strings.HasPrefix(line, "lethe: import: the archive is damaged") || strings.Count(rest, "\n") != 1 ||
		!strings.HasPrefix(rest, "hint: ") {
		t.Errorf("import said %s", &said)
	}
	if out := tr.lethe(fresh, "agents"); strings.Contains(string(out), "ada") {
		t.Errorf("imported:\n%s", out)
	}
}
