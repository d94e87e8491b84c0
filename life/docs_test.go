package life

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/lethetest"
)

// The page's example is a sound log, as this package writes it. (Package event tests
// the forms of the events.)
func TestPageExample(t *testing.T) {
	example := lethetest.Blocks(t, "life.md", "life")[0]
	path := filepath.Join(t.TempDir(), "LIFE.md")
	lethetest.Must(t, os.WriteFile(path, []byte(example), 0o600))
	if l := mustOpen(t, path); l.Torn != "" {
		t.Error("the example has a torn end")
	}
	var again strings.Builder
	prev := ""
	for i, e := range scan(t, path) {
		raw := strings.Split(example, "\n")[i]
		line, sum := render(prev, e, strings.Contains(raw, " + #"))
		again.WriteString(line)
		prev = sum
	}
	if again.String() != example {
		t.Errorf("the example is not how this package writes it:\n%s", again.String())
	}
	first := strings.SplitN(example, " #", 2)[0]
	if want := "BLAKE3 over 106 bytes"; len(first) != 106 || !strings.Contains(lethetest.Page(t, "life.md"), want) {
		t.Errorf("the first line has %d bytes, the page does not say %q", len(first), want)
	}
}
