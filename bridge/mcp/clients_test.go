package mcp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/tools/catalogue"
	client "lethe/agent/tools/mcp"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// The client of the protocol in JavaScript, on which most agents are built.
func TestJavaScript(t *testing.T) {
	lethetest.Unraced(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: install it, and run npm ci in internal/test/js")
	}
	js := filepath.Join(lethetest.Root(t), "internal/test/js")
	if _, err := os.Stat(filepath.Join(js, "node_modules/@modelcontextprotocol/sdk")); err != nil {
		t.Skip("the package @modelcontextprotocol/sdk is missing: run npm ci in internal/test/js")
	}
	w := newWorld(t)
	cmd := exec.CommandContext(t.Context(), node, lethetest.Given(t, "internal/test/js", "mcp.mjs"))
	cmd.Env, cmd.Stderr = append(os.Environ(), "URL="+w.URL+"/mcp", "TOKEN="+servetest.Token), os.Stderr
	out, err := cmd.Output()
	lethetest.Must(t, err)
	lethetest.Words(t, string(out), `"server":"lethe","told":true`, `"agents","ask","open_ref","read_room","recall","say"]`,
		`"answer":"12*7 = 84","steps":["BASH"],"lines":["BASH `+"`echo hello`"+` gave: hello","run echo hello","12*7 = 84","what is 12*7?"]`,
		`"room":4,"rooms":["lethe://room/attic","lethe://room/dev"]`, `"refused":true,"missing":-32602`)
}

// Our own client, which finds and calls what our server offers.
func TestOwnClient(t *testing.T) {
	w := newWorld(t)
	header := map[string]string{"Authorization": "Bearer " + servetest.Token}
	s := client.New(client.Config{
		Home: t.TempDir(), Servers: map[string]client.Server{"lethe": {URL: w.URL + "/mcp", Headers: header}},
	})
	defer s.Close()
	if items := s.Ask(t.Context()); len(items) != 6 || items[0].Name != "lethe/agents" {
		t.Fatal(items)
	}
	a, err := s.Use(t.Context(), "lethe/agents", json.RawMessage("{}"), catalogue.Call{})
	lethetest.Must(t, err)
	lethetest.Words(t, string(a.Text), "ada", "bob")
	_, err = s.Use(t.Context(), "lethe/read_room", json.RawMessage(`{"room":"nowhere"}`), catalogue.Call{})
	if err != nil && strings.Contains(err.Error(), "does not work") {
		t.Error("an answer that is an error stops the server:", err)
	}
}
