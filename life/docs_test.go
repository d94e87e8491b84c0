package life

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
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

// The seals of the page's example are true, and docs/check.md has the checkpoint of the newest.
func TestPageSeals(t *testing.T) {
	const self = "82751602d95e3c1da8ebc88588acedfc0b9c81a7b0ae062ad358e4f5c032a2b7"
	home := t.TempDir()
	lethetest.Must(t, os.WriteFile(home+"/key", []byte(lethetest.Blocks(t, "check.md", "key")[0]), 0o600))
	key, err := ReadKey(home)
	lethetest.Must(t, err)
	var tree Tree
	var newest, last string
	for line := range strings.Lines(lethetest.Blocks(t, "life.md", "life")[0]) {
		if e, err := ParseLine(line); err == nil && e.Kind == Sealed {
			c := key.Sign(self, tree.Size, tree.Root(), e.Get("last"))
			newest = c.String()
			if len(c.Last) != 64 || !strings.HasPrefix(c.Last, last) || e.Get("size") != fmt.Sprint(c.Size) ||
				e.Get("root") != Base64(c.Root[:]) || e.Get("key") != key.Public() || e.Get("sig") != Base64(c.Sig) {
				t.Errorf("the page has %s, want last=%s… sig=%s", line, last, Base64(c.Sig))
			}
		} else if err == nil && len(e.Refs) > 0 {
			last = e.Refs[len(e.Refs)-1].Hash
		}
		tree.Add(Leaf(line))
	}
	if got := lethetest.Blocks(t, "check.md", "checkpoint")[0]; got != newest {
		t.Errorf("the checkpoint is\n%s", newest)
	}
}
