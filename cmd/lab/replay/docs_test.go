package replay

import (
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// The example of cmd/lab/README.md is a trace, and means what the page says.
func TestDocsExample(t *testing.T) {
	page := lethetest.Page(t, "../cmd/lab/README.md")
	_, rest, ok := strings.Cut(page, "```\n{\"kind\"")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("no example in the page")
	}
	items, err := readAll(strings.NewReader("{\"kind\"" + example))
	if err != nil || len(items) != 8 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	r := replayed(t, items, small())
	if r.Main.Requests != 3 || r.History.Lines != 8 || r.Reach.Refs[0] != 1 {
		t.Errorf("%+v", r)
	}
}

// Every row of a report is explained.
func TestDocsRows(t *testing.T) {
	page := lethetest.Page(t, "../cmd/lab/README.md")
	for line := range strings.Lines(Report{Options: Default()}.String()) {
		name := strings.TrimSpace(line[:22])
		if name == "settings" {
			continue
		}
		if !strings.Contains(page, "\n- "+name) {
			t.Errorf("cmd/lab/README.md does not explain %q", name)
		}
	}
}
