package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/test/lethetest"
)

// TestMain sees that nothing goes on behind the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Told tells tests outside of the package whether events tell of each change.
var Told = told

// fast is a reader that waits a short while for a file that is being rewritten.
var fast = reader{maxLine: maxLine, quiet: 2 * time.Millisecond, settle: 20 * time.Millisecond}

func write(t testing.TB, path, content string) {
	t.Helper()
	lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	lethetest.Must(t, os.WriteFile(path, []byte(content), 0o600))
}

// save replaces path as an editor does: by another file.
func save(t testing.TB, path, content string) {
	t.Helper()
	write(t, path+"~", content)
	lethetest.Must(t, os.Rename(path+"~", path))
}

// echo appends s as it is, with one write.
func echo(t testing.TB, path, s string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	lethetest.Must(t, err)
	defer f.Close()
	if _, err := f.WriteString(s); err != nil {
		t.Fatal(err)
	}
}

func readAll(t testing.TB, path string, c Cursor) Batch {
	t.Helper()
	b, err := fast.read(path, c, maxLine)
	lethetest.Must(t, err)
	return b
}

func texts(lines []Line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return out
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	lethetest.Must(t, err)
	return string(b)
}
