package mcp_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"lethe/agent/tools/mcp"
	"lethe/internal/test/lethetest"
)

// What Claude, Cursor and VS Code write down is read; what only they can fill in is left out, and told.
func TestParse(t *testing.T) {
	claude := `{"mcpServers": {
		"My Server": {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${env:KEY}", "A": "b"}},
		"my.server": {"command": "y"}, "shell": {"command": "x", "args": ["${workspaceFolder}"]},
		"far": {"type": "http", "url": "https://far.example/mcp", "headers": {"Authorization": "${TOKEN}"}},
		"near": {"url": "http://near.example/mcp"}, "☃": {"command": "x"}, "empty": {},
		"off": {"command": "x", "disabled": true}}, "projects": {"a": 1}}`
	got, refused, err := mcp.Parse([]byte(claude))
	lethetest.Must(t, err)
	want := map[string]mcp.Server{
		"my-server": {Command: []string{"npx", "-y", "x"}, Env: map[string]string{"KEY": "$KEY", "A": "b"}, Network: true},
		"far":       {URL: "https://far.example/mcp", Headers: map[string]string{"Authorization": "$TOKEN"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	why := errors.Join(refused...).Error()
	for _, part := range []string{"shell: it has a ${", "near: url = ", "☃: its name", "empty: give it either", "off: it is disabled there",
		"my.server: another one is called my-server here, too"} {
		if !strings.Contains(why, part) {
			t.Errorf("refused without %q: %s", part, why)
		}
	}
	code, _, err := mcp.Parse([]byte(`{"servers": {"a": {"command": "b"}}, "inputs": []}`))
	if err != nil || len(code) != 1 {
		t.Errorf("of VS Code: %v, %v", code, err)
	}
	if _, _, err := mcp.Parse([]byte("mcpServers:")); err == nil {
		t.Error("no JSON, and no error")
	}
}
