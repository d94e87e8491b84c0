package adopt_test

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lethe/agent/adopt"
	"lethe/agent/adopt/shelf"
)

// A store may be a directory, one file, or a zip; a variable moves an agent's, and a missing one is none.
func TestOpen(t *testing.T) {
	home := t.TempDir()
	export := filepath.Join(home, "export.zip")
	file, err := os.Create(export)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	entry, _ := archive.Create("data/conversations.json")
	_, _ = entry.Write([]byte(`[{"uuid":"c1","chat_messages":[{"uuid":"m1","sender":"human","text":"hello"}]}]`))
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	file.Close()
	lone := filepath.Join(home, "h.jsonl")
	for _, name := range []string{lone, filepath.Join(home, "other.jsonl")} {
		line := `{"id":"h1","messages":[{"id":1,"role":"user","content":"hello","timestamp":1772618400}]}`
		if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for agent, place := range map[string]string{"claude-ai": export, "hermes": lone} {
		report, err := (*shelf.Shelf)(nil).From(context.Background(), adopt.Source{Agent: agent, Place: place}, adopt.Options{})
		if err != nil || report.Files != 1 || report.Entries != 1 || len(report.Unknown) > 0 {
			t.Errorf("%s: %v %+v", agent, err, report)
		}
	}
	moved := func(name string) string { return map[string]string{"CODEX_HOME": "/moved"}[name] }
	if got := adopt.Find("codex").Places("/me", moved); !slices.Equal(got, []string{"/moved", "/me/.codex"}) {
		t.Error(got)
	}
	if _, err := (adopt.Source{Place: filepath.Join(home, ".codex")}).Open(&adopt.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Reading ends with the sink's error, and with its context.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	store := os.DirFS("testdata/codex")
	_, err := adopt.Read(ctx, adopt.Find("codex"), store, new(collected), adopt.Options{})
	if err != context.Canceled {
		t.Error(err)
	}
	_, err = adopt.Read(context.Background(), adopt.Find("codex"), store, new(full), adopt.Options{})
	if err != os.ErrClosed {
		t.Error(err)
	}
}

type full struct{ collected }

func (*full) Entry(adopt.Entry) error { return os.ErrClosed }
