package main_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/oauthtest"
)

// People log in to a server over pipes, as over ssh: they are shown an address, and paste the one that it ends at.
func TestServerLogin(t *testing.T) {
	tools := sdk.NewServer(&sdk.Implementation{Name: "far"}, nil)
	sdk.AddTool(tools, &sdk.Tool{Name: "look", Description: "looks far"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, nil
		})
	far := oauthtest.New(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, nil))
	home := filepath.Join(t.TempDir(), "home")
	does(t, home, "mcp", "add", "far", "--url", far.URL+"/mcp")
	out, err := tries(home, "mcp", "test", "far")
	if err == nil || !strings.Contains(out, "people have to run: lethe mcp login far") {
		t.Error(out, err)
	}
	out, err = tries(home, "mcp", "login", "far") // standard input is at its end
	if err == nil || !strings.Contains(out, "lethe: log in to far: what was pasted does not answer that address") {
		t.Error(out, err)
	}

	cmd := exec.CommandContext(t.Context(), "lethe", "--home", home, "mcp", "login", "far")
	in, err := cmd.StdinPipe()
	lethetest.Must(t, err)
	notes, err := cmd.StderrPipe()
	lethetest.Must(t, err)
	var listed bytes.Buffer
	cmd.Stdout = &listed
	lethetest.Must(t, cmd.Start())
	note, err := bufio.NewReader(notes).ReadString('\n')
	lethetest.Must(t, err)
	_, address, ok := strings.Cut(strings.TrimSpace(note), "(or its code): ")
	if !ok {
		t.Fatal(note)
	}
	_, err = in.Write([]byte(oauthtest.Browse(t, address) + "\n"))
	lethetest.Must(t, err)
	lethetest.Must(t, cmd.Wait())
	lethetest.Words(t, listed.String(), "far/look", "looks far")
	file := filepath.Join(home, "mcp", "far.token.json")
	lethetest.Words(t, lethetest.Read(t, file), oauthtest.Token(1))
	if out := does(t, home, "check"); strings.Contains(out, "far.token") {
		t.Error(out)
	}
	out = does(t, home, "mcp", "remove", "far")
	if _, err := os.Stat(file); err == nil {
		t.Error("its token is still there:", out)
	}
}
