package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/mcp"
)

// A table is added and taken out again, and no byte beside it changes.
func TestEditServers(t *testing.T) {
	home := t.TempDir()
	path := File(home)
	text := func() string { return lethetest.Read(t, path) }
	notes := mcp.Server{Command: []string{"npx", "a \"b\"", "ü\t"}, Env: map[string]string{"B": "1", "A-B": "$X"}, Network: true}
	docs := mcp.Server{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "$DOCS"}}
	lethetest.Must(t, AddServer(home, "notes", notes)) // there is no file yet
	var s Settings
	lethetest.Must(t, Read(home, &s))
	if !reflect.DeepEqual(s.MCP["notes"], notes) {
		t.Errorf("read back: %+v from\n%s", s.MCP["notes"], text())
	}
	before := "# mine\nuser = \"eve\" # me\n\n[mcp.old] # kept\ncommand = [\n  \"x\",\n]\n[mcp.old.env]\nA = \"1\"\n\n[tools]\nbash = \"off\"\n"
	lethetest.Must(t, os.WriteFile(path, []byte(before), 0o600))
	lethetest.Must(t, AddServer(home, "docs", docs))
	if !strings.HasPrefix(text(), before) {
		t.Errorf("added:\n%s", text())
	}
	if err := AddServer(home, "docs", notes); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("added twice: %v", err)
	}
	lethetest.Must(t, RemoveServer(home, "old"))
	want := "# mine\nuser = \"eve\" # me\n\n[tools]\nbash = \"off\"\n\n[mcp.docs]\nurl = \"https://example.com/mcp\"\n" +
		"[mcp.docs.headers]\nAuthorization = \"$DOCS\"\n"
	if text() != want {
		t.Errorf("removed:\n%s\nwant\n%s", text(), want)
	}
	for _, odd := range []string{"[mcp]\nnotes = { url = \"https://a.example\" }\n", "mcp.notes.url = \"https://a.example\"\n"} {
		lethetest.Must(t, os.WriteFile(path, []byte(odd), 0o600))
		if err := RemoveServer(home, "notes"); err == nil || !strings.Contains(err.Error(), "cannot edit") || text() != odd {
			t.Errorf("removed from %q: %v", odd, err)
		}
	}
}
