package lethetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Dir is a temporary directory by its real path, without links.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	Must(t, err)
	return dir
}

// Write makes a file and the directories above it.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// Read returns what a file holds.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	Must(t, err)
	return string(text)
}

// Holds fails the test unless a file holds want.
func Holds(t testing.TB, path, want string) {
	t.Helper()
	if got := Read(t, path); got != want {
		t.Errorf("%s holds %q, want %q", path, got, want)
	}
}

// Words fails the test unless text holds each of words.
func Words(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Fatalf("%q is not in:\n%.4000s", w, text)
		}
	}
}
