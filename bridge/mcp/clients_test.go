package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// The client of the protocol in JavaScript, on which most agents are built.
func TestJavaScript(t *testing.T) {
	lethetest.Unraced(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: install it, and run npm ci in internal/js")
	}
	js := filepath.Join(lethetest.Root(t), "internal/js")
	if _, err := os.Stat(filepath.Join(js, "node_modules/@modelcontextprotocol/sdk")); err != nil {
		t.Skip("the package @modelcontextprotocol/sdk is missing: run npm ci in internal/js")
	}
	w := newWorld(t)
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(js, "mcp.mjs"))
	cmd.Env, cmd.Stderr = append(os.Environ(), "URL="+w.URL+"/mcp", "TOKEN="+servetest.Token), os.Stderr
	out, err := cmd.Output()
	lethetest.Must(t, err)
	lethetest.Words(t, string(out), `"server":"lethe","told":true`, `"agents","ask","open_ref","read_room","recall","say"]`,
		`"answer":"12*7 = 84","steps":["BASH"],"lines":["BASH `+"`echo hello`"+` gave: hello","run echo hello","12*7 = 84","what is 12*7?"]`,
		`"room":4,"rooms":["lethe://room/attic","lethe://room/dev"]`, `"refused":true,"missing":-32602`)
}
