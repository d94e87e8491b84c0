package life

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page's example is a sound log, and each event in it is described, with
// every field that it has.
func TestPageExample(t *testing.T) {
	data, err := os.ReadFile("../docs/life.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	_, example, ok := strings.Cut(doc, "\n```life\n")
	example, _, closed := strings.Cut(example, "```\n")
	if !ok || !closed {
		t.Fatal("docs/life.md has no example")
	}
	path := filepath.Join(t.TempDir(), "LIFE.md")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := mustOpen(t, path); l.Torn != "" {
		t.Error("the example has a torn end")
	}
	var again strings.Builder
	prev := ""
	forms := map[string]string{}
	for _, s := range regexp.MustCompile("(?m)^### `([a-z]+)`\n\n`(.*)`\n\n(.*)$").FindAllStringSubmatch(doc, -1) {
		if !strings.HasPrefix(s[3], "Reserved") {
			forms[s[1]] = s[2]
		}
	}
	seen := map[string]bool{}
	for i, e := range scan(t, path) {
		raw := strings.Split(example, "\n")[i]
		line, sum := render(prev, e, strings.Contains(raw, " + #"))
		again.WriteString(line)
		prev = sum
		seen[e.Kind] = true
		form, ok := forms[e.Kind]
		if !ok {
			t.Errorf("%s is not described", e.Kind)
		}
		for _, f := range e.Fields {
			if !strings.Contains(form, f.Key+"=") {
				t.Errorf("%s is described without %s=", e.Kind, f.Key)
			}
		}
		least, more := strings.Count(form, " <"), strings.Count(form, "[<")
		if n := len(e.Refs); n < least || n > least+more {
			t.Errorf("%s is described with %d refs and perhaps %d more, the example has %d", e.Kind, least, more, n)
		}
	}
	if again.String() != example {
		t.Errorf("the example is not how this package writes it:\n%s", again.String())
	}
	for kind := range forms {
		if !seen[kind] {
			t.Errorf("%s is described and not in the example", kind)
		}
	}
	first := strings.SplitN(example, " #", 2)[0]
	if want := "BLAKE3 over 106 bytes"; len(first) != 106 || !strings.Contains(doc, want) {
		t.Errorf("the first line has %d bytes, the page does not say %q", len(first), want)
	}
}
